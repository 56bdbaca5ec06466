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
using ::testing::SizeIs;

using Bytes = std::vector<std::byte>;

Bytes bytes_of(const std::string& text) {
  Bytes bytes;
  for (const char letter : text) bytes.push_back(static_cast<std::byte>(letter));
  return bytes;
}

TEST(ThreadGroup, GathersBytesOfAnyLengthInOrderOfRank) {
  std::vector<std::vector<Bytes>> all(3);
  run_processes(3, [&](ProcessGroup& group) {
    const auto rank = static_cast<std::size_t>(group.rank());
    for (int round = 0; round < 20; ++round) all[rank] = group.gather(Bytes(rank, std::byte{7}));
    EXPECT_EQ(group.size(), 3);
  });
  for (const auto& seen : all) {
    EXPECT_THAT(seen, ElementsAre(SizeIs(0), SizeIs(1), SizeIs(2)));
    EXPECT_EQ(seen[2], Bytes(2, std::byte{7}));
  }
}

TEST(ThreadGroup, BroadcastsTheBytesOfOneProcess) {
  std::vector<Bytes> all(3);
  run_processes(3, [&](ProcessGroup& group) {
    const Bytes own = bytes_of("process " + std::to_string(group.rank()));
    all[static_cast<std::size_t>(group.rank())] = group.broadcast(own, 2);
  });
  for (const Bytes& seen : all) EXPECT_EQ(seen, bytes_of("process 2"));
}

TEST(ThreadGroup, RefusesDifferentCallsAndGoesOn) {
  std::vector<std::string> texts(2);
  std::vector<std::size_t> later(2);
  run_processes(2, [&](ProcessGroup& group) {
    const auto rank = static_cast<std::size_t>(group.rank());
    try {
      if (rank == 0) group.gather({});
      if (rank == 1) group.broadcast({}, 1);
    } catch (const MergeMismatchError& error) {
      texts[rank] = error.what();
    }
    later[rank] = group.gather(Bytes(5)).at(1).size();
  });
  for (const std::string& text : texts) {
    EXPECT_THAT(text, AllOf(HasSubstr("BF-012"), HasSubstr("process 0  calls gather"),
                            HasSubstr("process 1  calls broadcast from process 1")));
  }
  EXPECT_THAT(later, ElementsAre(5, 5));
}

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

TEST(ThreadGroup, RefusesARankOutsideTheGroup) {
  run_processes(2, [](ProcessGroup& group) {
    EXPECT_THROW(group.broadcast({}, 2), InvalidArgumentError);
    EXPECT_THROW(group.broadcast({}, -1), InvalidArgumentError);
  });
}

TEST(SingleProcess, IsProcessZeroOfOne) {
  SingleProcess group;
  EXPECT_EQ(group.rank(), 0);
  EXPECT_EQ(group.size(), 1);
  EXPECT_THAT(group.gather(bytes_of("a")), ElementsAre(bytes_of("a")));
  EXPECT_EQ(group.broadcast(bytes_of("b"), 0), bytes_of("b"));
  EXPECT_THROW(group.broadcast({}, 1), InvalidArgumentError);
}

}  // namespace
}  // namespace belfry::testing
