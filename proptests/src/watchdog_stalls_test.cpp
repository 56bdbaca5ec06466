// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Replicas that never reach their next merge, and merges that never end.
#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "belfry/sim/explore.h"
#include "belfry/testing/watchdog.h"
#include "sanitizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace belfry::testing::watchdog_stalls_test {
namespace {

using sim::Carrier;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::ExitedWithCode;
using ::testing::HasSubstr;

constexpr WatchdogOptions kOneSecond{.limit_s = 1};
constexpr CallSite kFirst{"train.cc", 41};
constexpr CallSite kSecond{"train.cc", 43};

sim::Options options_of(Carrier carrier) {
  return {.devices = 3, .schedule = sim::Schedule::fixed(), .carrier = carrier};
}

void meet(ReplicaContext& replica, CallSite site) {
  replica.all_reduce(ReduceOp::kSum, 1, detail::MergePlace(site));
}

void spin() {
  volatile bool never = false;
  while (!never) {
  }
}

// Replica 1 does `stall` between two merges, in the serial schedule: replica 0 waits in the second
// merge, and replica 2 has had no turn since the first merge.
template <class Stall>
void run_with(Carrier carrier, const Stall& stall) {
  const Watchdog watchdog(kOneSecond);
  sim::Backend backend{options_of(carrier)};
  MirroredStrategy strategy{backend};
  strategy.run([&](ReplicaContext& replica) {
    meet(replica, kFirst);
    if (replica.replica_id() == 1) stall();
    meet(replica, kSecond);
  });
}

class StallDeathTest : public ::testing::Test {
 protected:
  StallDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

const auto kEnds = ExitedWithCode(kStallExitCode);

TEST_F(StallDeathTest, OfAReplicaThatSpinsEndsAProcessWithFibers) {
  EXPECT_EXIT(
      run_with(Carrier::kFiber, spin), kEnds,
      AllOf(HasSubstr("BF-017 replica 1 took no step for 1 s in a run on the carrier fiber"),
            HasSubstr("at watchdog_stalls_test.cpp:"),
            HasSubstr("replica 0  train.cc:43  waits in merge #2"),
            HasSubstr("replica 1  train.cc:41  has not reached a merge since merge #1"),
            HasSubstr("replica 2  train.cc:41  waits for its turn after merge #1"),
            HasSubstr("the process ends with exit code 86")));
}

TEST_F(StallDeathTest, PrintsTheCallStackOfTheReplica) {
  if (kDelaysSignals) GTEST_SKIP() << "ThreadSanitizer delays signals: no thread is held";
  EXPECT_EXIT(run_with(Carrier::kFiber, spin), kEnds,
              AllOf(HasSubstr("call stack:\n"), HasSubstr("+0x")));
}

TEST_F(StallDeathTest, OfAReplicaThatWaitsForItsOwnMutexEndsAProcessWithFibers) {
  if (kDelaysSignals) GTEST_SKIP() << "ThreadSanitizer itself reports the second lock";
  const auto holds_across_a_merge = [] {
    const Watchdog watchdog(kOneSecond);
    sim::Backend backend{options_of(Carrier::kFiber)};
    MirroredStrategy strategy{backend};
    std::mutex mutex;
    strategy.run([&](ReplicaContext& replica) {
      const std::lock_guard lock(mutex);
      meet(replica, kFirst);
    });
  };
  EXPECT_EXIT(holds_across_a_merge(), kEnds,
              AllOf(HasSubstr("BF-017 replica 1 took no step"),
                    HasSubstr("replica 0  train.cc:41  waits in merge #1"),
                    HasSubstr("replica 1  has not reached its first merge"),
                    HasSubstr("replica 2  has not started")));
}

// Bodies of explorations run on fibers: a stall has a report, and no verdict.
TEST_F(StallDeathTest, OfAnExploredBodyEndsTheProcess) {
  const auto explore_stall = [] {
    const Watchdog watchdog(kOneSecond);
    (void)sim::explore(options_of(Carrier::kBaton), [](sim::Backend& backend) {
      MirroredStrategy strategy{backend};
      strategy.run([](ReplicaContext& replica) {
        meet(replica, kFirst);
        if (replica.replica_id() == 1) spin();
      });
    });
  };
  EXPECT_EXIT(explore_stall(), kEnds,
              HasSubstr("BF-017 replica 1 took no step for 1 s in a run on the carrier fiber"));
}

TEST_F(StallDeathTest, OfAMergeFunctionEndsTheProcess) {
  const auto spins_in_a_merge = [](Carrier carrier) {
    const Watchdog watchdog(kOneSecond);
    sim::Backend backend{options_of(carrier)};
    MirroredStrategy strategy{backend};
    strategy.run([](ReplicaContext& replica) {
      replica.merge_call_at(detail::MergePlace(kFirst), [](CrossReplicaContext&) { spin(); });
    });
  };
  for (const Carrier carrier : {Carrier::kFiber, Carrier::kBaton, Carrier::kConcurrent}) {
    EXPECT_EXIT(spins_in_a_merge(carrier), kEnds,
                AllOf(HasSubstr("BF-017 a merge took no step for 1 s"),
                      HasSubstr("replicas 0-2  train.cc:41  waits in merge #1")));
  }
}

TEST_F(StallDeathTest, OfConcurrentReplicasEndsTheProcess) {
  EXPECT_EXIT(run_with(Carrier::kConcurrent, spin), kEnds,
              AllOf(HasSubstr("every replica took no step for 1 s"),
                    HasSubstr("replica 1  train.cc:41  has not reached a merge since merge #1"),
                    HasSubstr("replicas 0,2  train.cc:43  waits in merge #2")));
}

#ifdef BELFRY_TESTING_TSAN
TEST_F(StallDeathTest, OfABatonEndsTheProcessIfThreadsCannotBeStopped) {
  EXPECT_EXIT(run_with(Carrier::kBaton, spin), kEnds, HasSubstr("replica 1 took no step"));
}
#endif

class BatonStallTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kDelaysSignals) GTEST_SKIP() << "ThreadSanitizer delays signals: the process ends";
  }

  // The report of the error of run_with.
  template <class Stall>
  static std::optional<ErrorReport> report_of(const Stall& stall) {
    try {
      run_with(Carrier::kBaton, stall);
    } catch (const MergeMismatchError& error) {
      return error.report();
    }
    return std::nullopt;
  }

  static std::vector<std::string> states_of(const ErrorReport& report) {
    std::vector<std::string> states;
    for (const ReplicaReport& replica : report.replicas) states.push_back(replica.what);
    return states;
  }
};

TEST_F(BatonStallTest, FailsTheRunWithTheNameOfAReplicaThatSpins) {
  const auto report = report_of(spin);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->code, ErrorCode::kReplicaStalled);
  EXPECT_EQ(report->summary, "replica 1 took no step for 1 s");
  EXPECT_THAT(states_of(*report),
              ElementsAre("waits in all_reduce #2", "was left behind after merge #1",
                          "waits for its turn after merge #1"));
  EXPECT_EQ(to_string(report->replicas[0].site), "train.cc:43");
  EXPECT_EQ(to_string(report->replicas[1].site), "train.cc:41");
}

TEST_F(BatonStallTest, FailsTheRunOfAReplicaThatWaitsForAMutex) {
  std::mutex& mutex = *new std::mutex;  // Stays locked, for the replica never goes on.
  const std::lock_guard lock(mutex);
  const auto report = report_of([&] { mutex.lock(); });
  ASSERT_TRUE(report);
  EXPECT_EQ(report->summary, "replica 1 took no step for 1 s");
}

TEST_F(BatonStallTest, UnwindsTheOtherReplicasAndStartsNoFurtherOne) {
  sim::Backend backend{options_of(Carrier::kBaton)};
  MirroredStrategy strategy{backend};
  struct Note {
    std::vector<int>& ended;
    int replica;
    ~Note() { ended.push_back(replica); }
  };
  std::vector<int> begun;
  std::vector<int> ended;
  const auto stalls = [&](ReplicaContext& replica) {
    begun.push_back(replica.replica_id());
    const Note note{ended, replica.replica_id()};
    if (replica.replica_id() == 1) spin();
    meet(replica, kFirst);
  };
  {
    const Watchdog watchdog(kOneSecond);
    EXPECT_THROW(strategy.run(stalls), MergeMismatchError);
  }
  EXPECT_THAT(begun, ElementsAre(0, 1));
  EXPECT_THAT(ended, ElementsAre(0));
  EXPECT_EQ(strategy.last_failure()->code, ErrorCode::kReplicaStalled);
  // The strategy is usable.
  const auto sums =
      strategy.run([](ReplicaContext& replica) { return replica.all_reduce(ReduceOp::kSum, 2); });
  for (const int sum : sums) EXPECT_EQ(sum, 6);
}

TEST_F(BatonStallTest, LeavesBehindEachReplicaThatStalls) {
  const Watchdog watchdog(kOneSecond);
  sim::Backend backend{options_of(Carrier::kBaton)};
  MirroredStrategy strategy{backend};
  // Replica 0 stalls, too, while its cancellation unwinds its stack.
  struct Spins {
    ~Spins() { spin(); }
  };
  try {
    strategy.run([](ReplicaContext& replica) {
      meet(replica, kFirst);
      std::optional<Spins> spins;
      if (replica.replica_id() == 0) spins.emplace();
      if (replica.replica_id() == 1) spin();
      meet(replica, kSecond);
    });
    FAIL();
  } catch (const MergeMismatchError& error) {
    EXPECT_EQ(error.report().summary, "replica 1 took no step for 1 s");
  }
}

// The replica that threw is the cause: replica 1 waits for it.
TEST_F(BatonStallTest, ThrowsTheExceptionOfAReplicaThatThrewBefore) {
  const Watchdog watchdog(kOneSecond);
  sim::Backend backend{options_of(Carrier::kBaton)};
  MirroredStrategy strategy{backend};
  EXPECT_THROW(strategy.run([](ReplicaContext& replica) {
    if (replica.replica_id() == 0) throw std::out_of_range("no more rows");
    if (replica.replica_id() == 1) spin();
    meet(replica, kFirst);
  }),
               std::out_of_range);
  EXPECT_EQ(strategy.last_failure()->code, ErrorCode::kReplicaThrew);
}

TEST_F(BatonStallTest, FailsTheMergeAroundANestedRun) {
  const Watchdog watchdog(kOneSecond);
  sim::Backend backend{options_of(Carrier::kBaton)};
  MirroredStrategy strategy{backend};
  try {
    strategy.run([&](ReplicaContext& replica) {
      replica.merge_call_at(detail::MergePlace(kFirst), [&](CrossReplicaContext&) {
        strategy.run([](ReplicaContext& inner) {
          if (inner.replica_id() == 2) spin();
          meet(inner, kSecond);
        });
      });
    });
    FAIL();
  } catch (const MergeMismatchError& error) {
    EXPECT_EQ(error.report().code, ErrorCode::kReplicaStalled);
    EXPECT_THAT(error.what(), HasSubstr("replica 2 took no step for 1 s"));
  }
}

}  // namespace
}  // namespace belfry::testing::watchdog_stalls_test
