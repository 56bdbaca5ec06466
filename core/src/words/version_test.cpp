// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/version.h"

#include <gtest/gtest.h>

namespace belfry::version_test {
namespace {

TEST(Version, HasThreeNumbers) {
  int dots = 0;
  for (const char c : version()) {
    EXPECT_TRUE((c >= '0' && c <= '9') || c == '.') << version();
    dots += c == '.' ? 1 : 0;
  }
  EXPECT_EQ(dots, 2) << version();
}

}  // namespace
}  // namespace belfry::version_test
