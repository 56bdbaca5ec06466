// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/error.h"
#include "belfry/process_group.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/code_of.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <sstream>

namespace belfry::testing {
namespace {

TEST(Deadline, IsAtLeastAMillisecondUnlessNever) {
  testing::asserts("SEM-207");
  EXPECT_EQ(Deadline::seconds(2), Deadline::milliseconds(2000));
  EXPECT_EQ(Deadline::seconds(2).as_milliseconds(), 2000);
  EXPECT_TRUE(Deadline::never().is_never());
  EXPECT_FALSE(Deadline::milliseconds(1).is_never());
  for (const std::int64_t count : {std::int64_t{0}, std::int64_t{-1}, INT64_MAX, INT64_MIN}) {
    EXPECT_EQ(code_of([&] { Deadline::milliseconds(count); }), ErrorCode::kInvalidArgument);
    EXPECT_EQ(code_of([&] { Deadline::seconds(count); }), ErrorCode::kInvalidArgument);
  }
}

TEST(Deadline, PrintsAsCode) {
  EXPECT_EQ(to_string(Deadline::milliseconds(1500)), "belfry::Deadline::milliseconds(1500)");
  EXPECT_EQ(to_string(Deadline::milliseconds(60'000)), "belfry::Deadline::seconds(60)");
  std::ostringstream out;
  out << Deadline::never();
  EXPECT_EQ(out.str(), "belfry::Deadline::never()");
}

}  // namespace
}  // namespace belfry::testing
