// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/testing/thread_group.h"

#include "belfry/error.h"
#include "belfry/testing/each_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace belfry::testing {
namespace {

using ::testing::HasSubstr;

TEST(ThreadGroup, ThrowsTheCauseBeforeItsConsequences) {
  at_each_place(3, [](int odd) {
    const std::string reason =
        "process " + std::to_string(odd) + " has left the group: it threw boom";
    const auto body = [&](ProcessGroup& group) {
      if (group.rank() == odd) throw std::runtime_error("boom");
      try {
        group.gather({});
      } catch (const ProcessLostError& error) {
        EXPECT_THAT(error.what(), HasSubstr(reason));
        throw;
      }
    };
    EXPECT_THROW(run_processes(3, body), std::runtime_error);
  });
}

}  // namespace
}  // namespace belfry::testing
