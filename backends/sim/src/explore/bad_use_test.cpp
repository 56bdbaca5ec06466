// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Bodies that use an exploration badly: each gets a level and a sentence. Compiled twice, in
// watched code and in code without a watch.
#include "belfry/belfry.h"
#include "belfry/error.h"
#include "belfry/sim/explore.h"
#include "testing/bad_bodies.h"
#include "testing/worker.h"
#include "watch/host_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace belfry::sim::bad_use_test {
namespace {

using testing::BadBody;
using ::testing::HasSubstr;

constexpr const char* kUnwatched = "no code is watched";

void judge(const std::vector<BadBody>& bodies) {
  (void)testing::worker();  // Before the explorations.
  const Options options{.devices = 2, .seed = 7};
  for (const BadBody& bad : bodies) {
    SCOPED_TRACE(bad.name);
    const Verdict verdict = explore(options, bad.body);
    testing::worker().waits();
    const std::string text = explain(verdict);
    EXPECT_EQ(verdict.level(), watch::linked() ? bad.watched : bad.unwatched) << text;
    if (watch::linked()) {
      EXPECT_THAT(text, HasSubstr(bad.sentence));
      continue;
    }
    EXPECT_THAT(text, HasSubstr(verdict.level() == VerdictLevel::kNone ? "NONE" : kUnwatched));
    if (bad.unwatched_sentence != nullptr) {
      EXPECT_THAT(text, HasSubstr(bad.unwatched_sentence));
    }
  }
}

TEST(BadUse, OfWhatDoesNotRepeat) { judge(testing::bodies_without_repeats()); }

TEST(BadUse, OfMachinesAndThreads) { judge(testing::bodies_with_machines()); }

TEST(BadUse, OfReplicas) { judge(testing::bodies_with_mistakes()); }

double reduced(Backend& backend) {
  MirroredStrategy strategy{backend};
  return strategy.run([](ReplicaContext& replica) {
    return replica.all_reduce(ReduceOp::kSum, replica.replica_id() + 0.5);
  })[0];
}

TEST(BadUse, OfOptions) {
  const int line = __LINE__ + 2;
  try {
    (void)explore({.devices = 0}, reduced);
    ADD_FAILURE() << "a backend without devices";
  } catch (const InvalidArgumentError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNoDevices);
    EXPECT_THAT(error.what(), HasSubstr("bad_use_test.cpp:" + std::to_string(line)));
  }
  Options few{.devices = 2, .seed = 7};
  few.record_limit = 3;
  const Verdict stopped = explore(few, reduced);
  EXPECT_EQ(stopped.level(), VerdictLevel::kSampled);
  EXPECT_THAT(explain(stopped), HasSubstr("raise Options::record_limit"));
}

TEST(BadUse, OfManyDevices) {
  const Verdict verdict = explore({.devices = 64, .seed = 7}, reduced);
  EXPECT_EQ(verdict.level(), watch::linked() ? VerdictLevel::kCertified : VerdictLevel::kSampled)
      << explain(verdict);
  EXPECT_EQ(verdict.report().outcomes.at(0).outcome, "2048");  // 64 * 63 / 2 + 64 / 2.
}

// The text of an outcome is for people: the numbers themselves are compared.
TEST(BadUse, OfLargeOutcomes) {
  const auto body = [](Backend& backend) {
    std::vector<double> values(20'000, reduced(backend));
    MirroredStrategy strategy{backend};
    strategy.run([&](ReplicaContext& replica) { values[15'000] = replica.replica_id(); });
    return values;
  };
  const Verdict verdict = explore({.devices = 2, .seed = 7}, body);
  EXPECT_EQ(verdict.level(), VerdictLevel::kRefuted);
  EXPECT_LT(explain(verdict).size(), 4000u);
  EXPECT_THAT(verdict.report().difference, HasSubstr("2, 2, 0, 2, 2"));
  EXPECT_THAT(verdict.report().difference, HasSubstr("2, 2, 1, 2, 2"));
}

// Replicas of each thread share a variable: no exploration takes the watch of another, and a
// watch that sees a second thread certifies nothing.
TEST(BadUse, OfExplorationsAtOnce) {
  constexpr std::size_t kThreads = 3;
  std::vector<std::vector<VerdictLevel>> levels(kThreads);
  std::vector<std::thread> threads;
  for (auto& own : levels) {
    threads.emplace_back([&own] {
      for (int i = 0; i < 10; ++i) {
        const auto body = [](Backend& backend) {
          MirroredStrategy strategy{backend};
          bool started = false;
          strategy.run([&](ReplicaContext&) { started = true; });
          return started;
        };
        own.push_back(explore({.devices = 2, .seed = 7}, body).level());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& own : levels) {
    ASSERT_EQ(own.size(), 10u);
    for (const VerdictLevel level : own) {
      EXPECT_TRUE(level == VerdictLevel::kSampled || level == VerdictLevel::kRacy)
          << to_string(level);
    }
  }
}

}  // namespace
}  // namespace belfry::sim::bad_use_test
