// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The schedules of refutations: as near to the serial schedule as possible, and told in words.
#include "belfry/belfry.h"
#include "belfry/sim/explore.h"
#include "belfry/testing/asserts.h"
#include "testing/host_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace belfry::sim::shrunk_schedules_test {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::HostMemory;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Host memory is watched, and a library function keeps every verdict from a certificate.
class ShrunkSchedules : public ::testing::Test {
 protected:
  ShrunkSchedules() {
    HostMemory::attached().reset();
    HostMemory::attached().report.unseen = {"library_function"};
  }
};

double captured(Backend& backend) {
  MirroredStrategy strategy{backend};
  double total = 0;
  strategy.run([&](ReplicaContext& replica) { total = 10 * total + replica.replica_id(); });
  return total;
}

// The first replica to start, after many further choices.
int first_to_start(Backend& backend) {
  MirroredStrategy strategy{backend};
  const auto variable = strategy.mirrored_variable(1.0);
  int first = -1;
  strategy.run([&](ReplicaContext& replica) {
    if (first < 0) first = replica.replica_id();
    for (int i = 0; i < 20; ++i) (void)variable.on(replica);
  });
  return first;
}

TEST_F(ShrunkSchedules, HaveASingleDepartureInWords) {
  belfry::testing::asserts("SEM-195");
  const Verdict verdict = explore({.devices = 2, .seed = 7}, captured);
  ASSERT_EQ(verdict.level(), VerdictLevel::kRefuted) << explain(verdict);
  std::vector<ScheduleOutcome> outcomes = verdict.report().outcomes;
  std::ranges::sort(outcomes, {}, &ScheduleOutcome::outcome);
  ASSERT_THAT(outcomes, SizeIs(2));
  // The serial schedule: 10 * 0 + 1. Replica 1 first: 10 * 1 + 0.
  EXPECT_EQ(outcomes[0].outcome, "1");
  EXPECT_THAT(outcomes[0].departures, IsEmpty());
  EXPECT_EQ(outcomes[1].outcome, "10");
  EXPECT_THAT(outcomes[1].departures, ElementsAre("replica 1 starts before replica 0"));
  EXPECT_THAT(explain(verdict), HasSubstr("  replica 1 starts before replica 0\n"));
  EXPECT_THAT(explain(verdict), HasSubstr("  the serial schedule\n"));
}

// Whichever schedule is judged, and also if the judged schedule is the one that is shrunk.
TEST_F(ShrunkSchedules, LoseTheChoicesWithoutEffect) {
  belfry::testing::asserts("SEM-195");
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const Options options{.devices = 8, .seed = seed};
    const Verdict verdict = explore(options, first_to_start);
    ASSERT_EQ(verdict.level(), VerdictLevel::kRefuted) << explain(verdict);
    std::vector<ScheduleOutcome> outcomes = verdict.report().outcomes;
    ASSERT_THAT(outcomes, SizeIs(2));
    const std::size_t serial = outcomes[0].departures.empty() ? 0 : 1;
    EXPECT_EQ(outcomes[serial].outcome, "0");
    EXPECT_THAT(
        outcomes[1 - serial].departures,
        ElementsAre("replica " + outcomes[1 - serial].outcome + " starts before replica 0"));
    for (const ScheduleOutcome& outcome : outcomes) {
      Options replay = options;
      replay.schedule = Schedule::replay(outcome.token);
      Backend backend{replay};
      EXPECT_EQ(std::to_string(first_to_start(backend)), outcome.outcome);
    }
  }
}

// The outcome is the same, and the merge functions write in an order of their own.
TEST_F(ShrunkSchedules, KeepADifferenceOfSteps) {
  belfry::testing::asserts("SEM-195");
  const Verdict verdict = explore({.devices = 3, .seed = 1}, [](Backend& backend) {
    MirroredStrategy strategy{backend};
    int first = -1;
    strategy.run([&](ReplicaContext& replica) {
      if (first < 0) first = replica.replica_id();
      const int mine = first == 0 ? 2 : 3;
      replica.merge_call([](CrossReplicaContext&, const PerReplica<int>&) {}, mine);
    });
  });
  ASSERT_EQ(verdict.level(), VerdictLevel::kRefuted) << explain(verdict);
  const auto& outcomes = verdict.report().outcomes;
  ASSERT_THAT(outcomes, SizeIs(2));
  const std::size_t serial = outcomes[0].departures.empty() ? 0 : 1;
  ASSERT_THAT(outcomes[1 - serial].departures, SizeIs(1));
  EXPECT_THAT(outcomes[1 - serial].departures[0],
              AnyOf("replica 1 starts before replica 0", "replica 2 starts before replica 0"));
  EXPECT_THAT(verdict.report().difference, HasSubstr("the operations differ at step"));
}

TEST_F(ShrunkSchedules, NameThePlaceOfAReplica) {
  belfry::testing::asserts("SEM-195");
  int line = 0;
  const Verdict verdict = explore({.devices = 2, .seed = 3}, [&](Backend& backend) {
    MirroredStrategy strategy{backend};
    std::vector<int> order;
    strategy.run([&](ReplicaContext& replica) {
      line = __LINE__ + 1;
      replica.merge_call([](CrossReplicaContext&) {});
      order.push_back(replica.replica_id());
    });
    return order;
  });
  ASSERT_EQ(verdict.level(), VerdictLevel::kRefuted) << explain(verdict);
  std::vector<ScheduleOutcome> outcomes = verdict.report().outcomes;
  std::ranges::sort(outcomes, {}, &ScheduleOutcome::outcome);
  EXPECT_EQ(outcomes[0].outcome, "[0, 1]");
  EXPECT_EQ(outcomes[1].outcome, "[1, 0]");
  const std::string place = "shrunk_schedules_test.cpp:" + std::to_string(line);
  ASSERT_THAT(outcomes[1].departures, SizeIs(1));
  EXPECT_EQ(outcomes[1].departures[0],
            "replica 1 goes on from " + place + " before replica 0 goes on from " + place);
}

}  // namespace
}  // namespace belfry::sim::shrunk_schedules_test
