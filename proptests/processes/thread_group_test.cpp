// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/testing/thread_group.h"

#include "belfry/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace belfry::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Bytes = std::vector<std::byte>;

TEST(ThreadGroup, TellsTheOthersWhoHasLeft) {
  std::vector<std::string> texts(3);
  run_processes(3, [&](ProcessGroup& group) {
    if (group.rank() == 1) return;
    for (int call = 0; call < 2; ++call) {
      try {
        group.gather({});
      } catch (const ProcessLostError& error) {
        texts[static_cast<std::size_t>(group.rank())] += error.what();
      }
    }
  });
  for (const int rank : {0, 2}) {
    const std::string& text = texts[static_cast<std::size_t>(rank)];
    EXPECT_THAT(text, HasSubstr("BF-070 process 1 has left the group"));
    EXPECT_NE(text.find("process 1"), text.rfind("process 1")) << "the second call did not throw";
  }
}

TEST(ThreadGroup, ThrowsTheCauseBeforeItsConsequences) {
  std::string lost;
  const auto body = [&](ProcessGroup& group) {
    if (group.rank() == 1) throw std::runtime_error("boom");
    try {
      group.gather({});
    } catch (const ProcessLostError& error) {
      lost = error.what();
      throw;
    }
  };
  EXPECT_THROW(run_processes(2, body), std::runtime_error);
  EXPECT_THAT(lost, HasSubstr("process 1 has left the group: it threw boom"));
}

TEST(SingleProcess, IsProcessZeroOfOne) {
  SingleProcess group;
  EXPECT_EQ(group.rank(), 0);
  EXPECT_EQ(group.size(), 1);
  const Bytes own{std::byte{1}, std::byte{2}};
  EXPECT_THAT(group.gather(own), ElementsAre(own));
  EXPECT_EQ(group.broadcast(own, 0), own);
  EXPECT_THROW(group.broadcast({}, 1), InvalidArgumentError);
}

}  // namespace
}  // namespace belfry::testing
