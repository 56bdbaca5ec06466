// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The end of memory in watched code.
#include "belfry/belfry.h"
#include "belfry/sim/explore.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/certified.h"
#include "testing/broken_conditions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace belfry::sim::watched_memory_test {
namespace {

using testing::broken_conditions;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kReplicas = 3;

// A replica and a second one, at each two places.
std::vector<std::pair<int, int>> pairs_of_replicas() {
  std::vector<std::pair<int, int>> pairs;
  for (int one = 0; one < kReplicas; ++one) {
    for (int other = 0; other < kReplicas; ++other) {
      if (one != other) pairs.emplace_back(one, other);
    }
  }
  return pairs;
}

// A replica ends memory that a second one reads. The watch keeps the memory.
TEST(WatchedMemory, IsInUseWhenASecondReplicaEndsTheMemory) {
  for (const auto& [reader, ender] : pairs_of_replicas()) {
    const int line = __LINE__ + 6;
    const Verdict verdict = explore({.devices = kReplicas}, [&](Backend& backend) {
      auto* const shared = new std::vector<int>(50, 5);
      MirroredStrategy strategy{backend};
      return strategy.run([&](ReplicaContext& replica) {
        if (replica.replica_id() == reader) return shared->at(3);
        if (replica.replica_id() == ender) delete shared;
        return 0;
      })[reader];
    });
    EXPECT_EQ(verdict.level(), VerdictLevel::kRacy) << explain(verdict);
    EXPECT_EQ(verdict.report().schedules, 1);
    EXPECT_EQ(verdict.report().outcomes.at(0).outcome, "5");
    EXPECT_THAT(explain(verdict), HasSubstr("delete or free writes"));
    EXPECT_THAT(explain(verdict), HasSubstr("watched_memory_test.cpp:" + std::to_string(line)));
  }
}

// Blocks of one size pass from replica to replica.
TEST(WatchedMemory, OfEndedBlocksIsNewMemory) {
  const auto body = [](Backend& backend) {
    MirroredStrategy strategy{backend};
    const auto sums = strategy.run([](ReplicaContext& replica) {
      int sum = 0;
      for (int i = 1; i < 3000; ++i) {
        const std::vector<int> values(1 + static_cast<std::size_t>(i) % 9, replica.replica_id());
        sum += values.back();
        if (i % 1000 == 0) replica.merge_call([](CrossReplicaContext&) {});
      }
      return sum;
    });
    return std::vector(sums.begin(), sums.end());
  };
  const Verdict verdict = explore({.devices = kReplicas}, body);
  EXPECT_CERTIFIED(verdict);
  EXPECT_EQ(verdict.report().outcomes.at(0).outcome, "[0, 2999, 5998]");
}

// The last owner ends the object after all uses, in every schedule: no race.
TEST(WatchedMemory, OfOwnersEndsWithTheLast) {
  const auto body = [](Backend& backend) {
    std::vector<std::shared_ptr<std::vector<int>>> owners(
        2, std::make_shared<std::vector<int>>(50, 5));
    MirroredStrategy strategy{backend};
    return strategy.run([&](ReplicaContext& replica) {
      const auto own = std::move(owners[static_cast<std::size_t>(replica.replica_id())]);
      return own->at(3);
    })[1];
  };
  const Verdict verdict = explore({.devices = 2, .seed = 7}, body);
  EXPECT_EQ(verdict.level(), VerdictLevel::kSampled) << explain(verdict);
  EXPECT_THAT(explain(verdict), HasSubstr("the last owner ends the object"));
}

// In some schedules, the first replica that makes an owner ends the last.
TEST(WatchedMemory, OfOwnersEndsWithTheLastIfTheFirstIsTheLast) {
  const auto body = [](Backend& backend) {
    std::vector<std::shared_ptr<int>> owners(3, std::make_shared<int>(5));
    MirroredStrategy strategy{backend};
    strategy.run([&](ReplicaContext& replica) {
      auto& own = owners[static_cast<std::size_t>(replica.replica_id())];
      auto second = own;
      backend.device(replica.replica_id()).communication_stream().synchronize();
      second.reset();
      own.reset();
    });
  };
  for (std::uint64_t seed = 0; seed < 32; ++seed) {
    Backend backend{{.devices = 3, .seed = seed}};
    body(backend);
    const Verdict verdict =
        explore({.devices = 3, .schedule = Schedule::replay(backend.replay_token())}, body);
    EXPECT_EQ(verdict.level(), VerdictLevel::kSampled) << explain(verdict);
    EXPECT_THAT(explain(verdict), HasSubstr("the last owner ends the object"));
  }
}

// A replica writes to memory of the program, which is an error while a second one has a handle.
std::string written_by(Backend& backend, int writer, int ender, bool ends_in_run) {
  MirroredStrategy strategy{backend};
  const auto scope = strategy.scope();
  std::vector<float> memory(2, 1);
  std::vector<Tensor<float>> handles(kReplicas);
  const auto writers = static_cast<std::size_t>(writer);
  const auto enders = static_cast<std::size_t>(ender);
  handles[writers] = Tensor<float>::over({2}, std::span(memory));
  if (ends_in_run) handles[enders] = handles[writers];
  std::string got;
  strategy.run([&](ReplicaContext& replica) {
    if (replica.replica_id() == ender) handles[enders] = {};
    if (replica.replica_id() != writer) return;
    try {
      scale(handles[writers], 2.0F);
      got = "written";
    } catch (const InvalidArgumentError&) {
      got = "refused";
    }
  });
  (void)handles[writers].to_host();
  return got;
}

TEST(WatchedMemory, OfTheProgramMakesNoCertificateIfASecondHandleEnds) {
  for (const auto& [writer, ender] : pairs_of_replicas()) {
    const auto with = [&](bool ends_in_run) {
      return explore({.devices = kReplicas}, [&](Backend& backend) {
        return written_by(backend, writer, ender, ends_in_run);
      });
    };
    const Verdict ends = with(true);
    EXPECT_EQ(ends.level(), VerdictLevel::kRefuted) << explain(ends);
    EXPECT_THAT(broken_conditions(ends), ElementsAre("nothing asks for the progress of agents"));
    const Verdict ended = with(false);
    EXPECT_CERTIFIED(ended);
    EXPECT_EQ(ended.report().outcomes.at(0).outcome, "written");
  }
}

// A replica ends a handle before or after the write of a second one, which copies the storage in
// some schedules alone. No value depends on the copy.
TEST(WatchedMemory, OfTensorsIsCertifiedThoughASecondHandleEnds) {
  for (const auto& [writer, ender] : pairs_of_replicas()) {
    const Verdict verdict = explore({.devices = kReplicas}, [&](Backend& backend) {
      MirroredStrategy strategy{backend};
      const auto scope = strategy.scope();
      auto shared = Tensor<float>::full({2}, 1.0F);
      strategy.run([&](ReplicaContext& replica) {
        Tensor<float> second;
        if (replica.replica_id() == ender) second = shared;
        replica.merge_call([](CrossReplicaContext&) {});
        if (replica.replica_id() == writer) scale(shared, 3.0F);
      });
      return shared.to_host()[0];
    });
    EXPECT_CERTIFIED(verdict);
    EXPECT_EQ(verdict.report().outcomes.at(0).outcome, "3");
  }
}

}  // namespace
}  // namespace belfry::sim::watched_memory_test
