// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/executor.h"

#include "backend/testing/scripted_job.h"
#include "belfry/backend/current_slot.h"
#include "belfry/testing/each_place.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cfenv>
#include <exception>
#include <stdexcept>
#include <thread>

namespace belfry::executor_test {
namespace {

using testing::CountdownStreams;
using testing::ScriptedJob;
using testing::SeededChooser;
using testing::Trace;

using Maker = std::unique_ptr<Executor> (*)(const ExecutorParts&);

// The promises of all executors; `concurrent` runs the tests with RunOptions' default as well.
class EveryExecutor : public ::testing::TestWithParam<Maker> {
 protected:
  std::unique_ptr<Executor> make(const ExecutorParts& parts) { return GetParam()(parts); }
};

INSTANTIATE_TEST_SUITE_P(Carriers, EveryExecutor,
                         ::testing::Values(&make_fiber_executor, &make_baton_executor,
                                           &make_concurrent_executor),
                         [](const auto& info) { return std::string(info.param({})->name()); });

using Lines = std::vector<std::string>;

TEST_P(EveryExecutor, TheSlotFollowsTheReplica) {
  const auto executor = make({});
  struct Mark : detail::SlotContext {
    int seen = 0;
  };
  std::vector<Mark> marks(4);
  Mark outside;
  detail::set_current_slot(&outside);
  int wrong = 0;
  ScriptedJob job(*executor, 4, [&](ScriptedJob& self, int replica) {
    Mark* const mark = &marks[static_cast<std::size_t>(replica)];
    const bool fresh = detail::current_slot() == nullptr;
    detail::set_current_slot(mark);
    for (int i = 0; i < 3; ++i) {
      self.meet(replica);
      mark->seen += fresh && detail::current_slot() == mark ? 1 : 0;
    }
  });
  job.on_merge = [&] { wrong += detail::current_slot() != &outside ? 1 : 0; };
  job.run();
  for (const Mark& mark : marks) EXPECT_EQ(mark.seen, 3);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(detail::current_slot(), &outside);
  detail::set_current_slot(nullptr);
}

TEST_P(EveryExecutor, AMergeInsideAHandlerKeepsEachReplicasOwnException) {
  const auto executor = make({});
  std::vector<std::string> seen(3);
  ScriptedJob job(*executor, 3, [&](ScriptedJob& self, int replica) {
    try {
      try {
        throw std::runtime_error("of " + std::to_string(replica));
      } catch (...) {
        self.meet(replica);
        throw;
      }
    } catch (const std::exception& error) {
      seen[static_cast<std::size_t>(replica)] = error.what();
    }
  });
  job.run();
  EXPECT_EQ(seen, (std::vector<std::string>{"of 0", "of 1", "of 2"}));
}

struct MeetsWhenDestroyed {
  ScriptedJob& job;
  int replica;
  int& uncaught;
  ~MeetsWhenDestroyed() {
    job.meet(replica);
    uncaught = std::uncaught_exceptions();
  }
};

TEST_P(EveryExecutor, AMergeDuringUnwindingDoesNotLeakTheException) {
  const auto executor = make({});
  testing::at_each_place(3, [&](int odd) {
    std::vector<int> uncaught(3, -1);
    int uncaught_in_merge = 0;
    ScriptedJob job(*executor, 3, [&](ScriptedJob& self, int replica) {
      try {
        // The others meet without an exception in flight.
        MeetsWhenDestroyed guard{self, replica, uncaught[static_cast<std::size_t>(replica)]};
        if (replica == odd) throw 1;
      } catch (int) {
      }
    });
    job.on_merge = [&] { uncaught_in_merge += std::uncaught_exceptions(); };
    job.run();
    std::vector<int> expected(3, 0);
    expected[static_cast<std::size_t>(odd)] = 1;
    EXPECT_EQ(uncaught, expected);
    EXPECT_EQ(uncaught_in_merge, 0);
  });
}

/// `errno` and the rounding mode.
struct State {
  int error;
  int rounding;
  static State current() { return {errno, std::fegetround()}; }
  void set() const {
    std::fesetround(rounding);
    errno = error;
  }
  bool operator==(const State&) const = default;
};

constexpr State kCallers{7, FE_TOWARDZERO};
constexpr State kOther{8, FE_UPWARD};

// Replica `odd` alone changes the state, or each replica does (odd: -1). `merges_before` and
// `merges_after` are the numbers of merges around the change.
void expect_own_states(Executor& executor, int odd, int merges_before, int merges_after) {
  constexpr int kReplicas = 3;
  const std::vector<State> all(kReplicas, kCallers);
  std::vector<State> first(kReplicas, State{});
  std::vector<State> last = first;
  std::vector<State> expected = all;
  std::vector<State> in_merges;
  ScriptedJob job(executor, kReplicas, [&](ScriptedJob& self, int replica) {
    const auto place = static_cast<std::size_t>(replica);
    first[place] = State::current();
    for (int k = 0; k < merges_before; ++k) self.meet(replica);
    if (odd < 0 || odd == replica) kOther.set();
    for (int k = 0; k < merges_after; ++k) self.meet(replica);
    last[place] = State::current();
  });
  job.on_merge = [&] { in_merges.push_back(State::current()); };
  for (int k = 0; k < kReplicas; ++k) {
    if (odd < 0 || odd == k) expected[static_cast<std::size_t>(k)] = kOther;
  }
  const State before = State::current();
  kCallers.set();
  job.run();
  const State after = State::current();
  before.set();
  EXPECT_EQ(first, all);
  EXPECT_EQ(last, expected);
  EXPECT_EQ(after, kCallers);
  EXPECT_EQ(in_merges, std::vector<State>(in_merges.size(), kCallers));
}

TEST_P(EveryExecutor, EachBodyBeginsWithTheCallersErrnoAndRoundingMode) {
  const auto executor = make({});
  for (int odd = -1; odd < 3; ++odd) {
    SCOPED_TRACE(odd);
    expect_own_states(*executor, odd, 0, 0);
    expect_own_states(*executor, odd, 0, 1);
    expect_own_states(*executor, odd, 1, 0);
    expect_own_states(*executor, odd, 1, 1);
  }
}

TEST_P(EveryExecutor, ACarryInsideAMergeGetsFreshCarriers) {
  Trace trace;
  const auto executor = make({.sink = &trace});
  int inner_ended = 0;
  std::mutex mutex;
  ScriptedJob job(*executor, 2, [](ScriptedJob& self, int replica) { self.meet(replica); });
  job.on_merge = [&] {
    EXPECT_FALSE(executor->on_replica());
    ScriptedJob inner(*executor, 3, [&](ScriptedJob& self, int replica) {
      self.meet(replica);
      const std::lock_guard lock(mutex);
      inner_ended += executor->on_replica() ? 1 : 0;
    });
    inner.run();
    EXPECT_EQ(inner.merges, 1);
    EXPECT_FALSE(executor->on_replica());
  };
  job.run();
  EXPECT_EQ(inner_ended, 3);
  EXPECT_EQ(job.merges, 1);
  EXPECT_FALSE(executor->on_replica());
}

TEST_P(EveryExecutor, AReplicaMayCarryOnItsOwnAndOnAnotherExecutor) {
  const auto executor = make({});
  const auto other = make({});
  std::vector<int> inner_ended(2, 0);
  ScriptedJob job(*executor, 2, [&](ScriptedJob& self, int replica) {
    for (Executor* const carrier : {executor.get(), other.get()}) {
      // The other executor serves one run at a time, as a strategy would see to.
      static std::mutex one_at_a_time;
      const std::lock_guard lock(one_at_a_time);
      std::mutex mutex;
      ScriptedJob inner(*carrier, 3, [&](ScriptedJob& inner_self, int inner_replica) {
        inner_self.meet(inner_replica);
        const std::lock_guard inner_lock(mutex);
        ++inner_ended[static_cast<std::size_t>(replica)];
      });
      inner.run();
    }
    self.meet(replica);
  });
  job.run();
  EXPECT_EQ(inner_ended, (std::vector<int>{6, 6}));
  EXPECT_EQ(job.merges, 1);
}

TEST_P(EveryExecutor, WhenNobodyCanMoveTheBlockedAreNamedAndCancelled) {
  const auto executor = make({});
  Gate never;
  ScriptedJob job(*executor, 4, [&](ScriptedJob& self, int replica) {
    if (replica % 2 == 1) self.wait_at(replica, never);
    self.meet(replica);
  });
  job.run();
  EXPECT_EQ(job.deadlocks, (std::vector<std::vector<int>>{{0, 1, 2, 3}}));
  EXPECT_EQ(job.cancelled, 4);
  EXPECT_TRUE(never.waiters().empty());
  ScriptedJob again(*executor, 4, [](ScriptedJob& self, int replica) { self.meet(replica); });
  again.run();
  EXPECT_EQ(again.merges, 1);
}

TEST_P(EveryExecutor, AnAbandonedReplicaIsCountedAsEnded) {
  const auto executor = make({});
  testing::at_each_place(3, [&](int odd) {
    ScriptedJob job(*executor, 3, [&](ScriptedJob& self, int replica) {
      self.meet(replica);
      if (replica == odd) {
        try {
          throw 1;
        } catch (...) {
          self.abandon(replica);
        }
      }
      self.meet(replica);
    });
    job.run();
    EXPECT_EQ(job.merges, 2);
  });
  ScriptedJob again(*executor, 3, [](ScriptedJob& self, int replica) { self.meet(replica); });
  again.run();
  EXPECT_EQ(again.merges, 1);
}

class WaitsForNobody final : public Job {
 public:
  void body(int) noexcept override {}
  Settled settle() noexcept override { return Settled::kWaiting; }
  void deadlock(const std::vector<int>& blocked) noexcept override {
    EXPECT_TRUE(blocked.empty());
    ++deadlocks;
  }
  int deadlocks = 0;
};

TEST_P(EveryExecutor, AJobThatWaitsForNobodyIsAnErrorAndNoHang) {
  const auto executor = make({});
  WaitsForNobody job;
  EXPECT_THROW(executor->carry(3, job, {}), InternalError);
  EXPECT_EQ(job.deadlocks, 1);
}

TEST_P(EveryExecutor, OnlyAReplicaCanWait) {
  const auto executor = make({});
  Gate gate;
  EXPECT_FALSE(executor->on_replica());
  EXPECT_THROW(executor->block_until({}, gate), InternalError);
  ScriptedJob job(*executor, 1, [](ScriptedJob& self, int replica) { self.meet(replica); });
  job.on_merge = [&] { EXPECT_THROW(executor->block_until({}, gate), InternalError); };
  job.run();
  EXPECT_TRUE(gate.waiters().empty());
}

TEST_P(EveryExecutor, TheHostAnnouncesOutsideRunsToo) {
  Trace trace;
  const auto executor = make({.sink = &trace});
  executor->step({.kind = OperationKind::kHostRead, .subject = 3});
  executor->announce({.kind = OperationKind::kMerge, .subject = 4});
  EXPECT_EQ(trace.lines(), (Lines{"H0 host_read 3", "H0 merge 4"}));
}

TEST_P(EveryExecutor, AWaitIsReportedWhenItBegins) {
  Trace trace;
  const auto executor = make({.sink = &trace});
  ScriptedJob job(*executor, 1, [](ScriptedJob& self, int replica) { self.meet(replica); });
  job.run();
  EXPECT_EQ(trace.lines(), (Lines{"R0 start 0", "R0 arrive 0", "M0 merge 1", "R0 end 0"}));
}

// The promises of the two executors with one carrier at a time.
class OneAtATime : public EveryExecutor {};

INSTANTIATE_TEST_SUITE_P(Carriers, OneAtATime,
                         ::testing::Values(&make_fiber_executor, &make_baton_executor),
                         [](const auto& info) { return std::string(info.param({})->name()); });

TEST_P(OneAtATime, AChooserThatAnswersZeroGivesTheSerialSchedule) {
  const auto body = [](ScriptedJob& self, int replica) {
    for (int i = 0; i < 3; ++i) {
      self.step(replica, 1);
      self.meet(replica);
    }
  };
  Trace serial;
  const auto plain = make({.sink = &serial});
  ScriptedJob(*plain, 4, body).run(false);
  SeededChooser zero(0);
  Trace chosen;
  const auto fixed = make({.chooser = &zero, .sink = &chosen});
  ScriptedJob(*fixed, 4, body).run(true);
  EXPECT_EQ(serial.lines(), chosen.lines());
  EXPECT_FALSE(zero.counts.empty());
}

TEST_P(OneAtATime, TheSerialScheduleAsksNobody) {
  SeededChooser chooser(5);
  Trace trace;
  const auto executor = make({.chooser = &chooser, .sink = &trace});
  ScriptedJob(*executor, 4, [](ScriptedJob& self, int replica) { self.meet(replica); }).run(false);
  EXPECT_TRUE(chooser.counts.empty());
}

TEST_P(OneAtATime, ReplicasThatWaitForStreamsLetThemRun) {
  Trace trace;
  CountdownStreams streams(&trace, {2, 1});
  const auto executor = make({.sink = &trace, .agents = &streams});
  streams.executor = executor.get();
  ScriptedJob job(*executor, 2, [&](ScriptedJob& self, int replica) {
    // Crosswise, so that who waits and who is released differ in order.
    self.wait_at(replica, streams.gate(static_cast<std::size_t>(1 - replica)));
    self.meet(replica);
  });
  job.run();
  EXPECT_EQ(trace.lines(), (Lines{"R0 start 0", "R0 host_wait 0", "R1 start 0", "R1 host_wait 0",
                                  "S0 execute 2", "S0 execute 1", "R1 arrive 0", "S1 execute 1",
                                  "R0 arrive 0", "M0 merge 1", "R0 end 0", "R1 end 0"}));
}

// Lets streams go first a number of times.
class StreamsFirst final : public Chooser {
 public:
  explicit StreamsFirst(int steps) : left_(steps) {}
  std::uint32_t choose(ChoiceKind, std::uint32_t) override { return left_-- > 0 ? 1 : 0; }

 private:
  int left_;
};

TEST_P(OneAtATime, StreamsTakeAsManyStepsBeforeTheHostsAsTheChooserLikes) {
  Trace trace;
  CountdownStreams streams(&trace, {3});
  StreamsFirst chooser(2);
  const auto executor = make({.chooser = &chooser, .sink = &trace, .agents = &streams});
  streams.executor = executor.get();
  executor->step({.kind = OperationKind::kHostRead, .subject = 7});
  EXPECT_EQ(trace.lines(), (Lines{"S0 execute 3", "S0 execute 2", "H0 host_read 7"}));
}

TEST_P(OneAtATime, AReplicaOfAnOuterRunIsReleasedFromWithinAnInnerOne) {
  CountdownStreams streams(nullptr, {3});
  const auto executor = make({.agents = &streams});
  streams.executor = executor.get();
  std::vector<int> inner_released(2, 0);
  ScriptedJob job(*executor, 2, [&](ScriptedJob& self, int replica) {
    if (replica == 0) {
      self.wait_at(replica, streams.gate(0));
    } else {
      ScriptedJob inner(*executor, 2, [&](ScriptedJob& inner_self, int inner_replica) {
        inner_self.wait_at(inner_replica, streams.gate(0));
        inner_released[static_cast<std::size_t>(inner_replica)] = 1;
      });
      inner.run();
    }
    self.meet(replica);
  });
  job.run();
  EXPECT_EQ(inner_released, (std::vector<int>{1, 1}));
  EXPECT_EQ(job.merges, 1);
  EXPECT_TRUE(job.deadlocks.empty());
}

class FailingStream final : public OtherAgents {
 public:
  std::uint32_t runnable() override { return steps_ > 0 ? 1 : 0; }
  void run(std::uint32_t) override {
    --steps_;
    throw std::runtime_error("the stream broke");
  }

 private:
  int steps_ = 1;
};

TEST_P(OneAtATime, AnAgentsExceptionLeavesCarryWhenAllReplicasHaveEnded) {
  FailingStream stream;
  const auto executor = make({.agents = &stream});
  Gate never;
  ScriptedJob job(*executor, 2,
                  [&](ScriptedJob& self, int replica) { self.wait_at(replica, never); });
  EXPECT_THROW(job.run(), std::runtime_error);
  EXPECT_EQ(job.cancelled, 2);
}

TEST(Executors, ForOneThreadRefuseARunOfAnotherThreadDuringARun) {
  for (const Maker maker : {&make_fiber_executor, &make_baton_executor}) {
    const auto executor = maker({});
    int bodies = 0;
    ErrorCode code{};
    const auto run_on_another_thread = [&] {
      std::thread other([&] {
        ScriptedJob job(*executor, 1, [&](ScriptedJob&, int) { ++bodies; });
        try {
          job.run();
        } catch (const ContextError& error) {
          code = error.code();
        }
      });
      other.join();
    };
    ScriptedJob first(*executor, 2, [&](ScriptedJob& self, int replica) {
      if (replica == 1) run_on_another_thread();
      self.meet(replica);
    });
    first.run();
    EXPECT_EQ(code, ErrorCode::kStrategyBusy) << executor->name();
    EXPECT_EQ(bodies, 0);
    EXPECT_EQ(first.merges, 1);
    run_on_another_thread();
    EXPECT_EQ(bodies, 1);
  }
}

}  // namespace
}  // namespace belfry::executor_test
