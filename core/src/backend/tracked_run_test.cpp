// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/semaphore.h"
#include "backend/testing/scripted_job.h"
#include "backend/turn_executor.h"
#include "belfry/backend/stall_watch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace belfry::tracked_run_test {
namespace {

using detail::CarrierKind;
using detail::Semaphore;
using detail::Stack;
using detail::StackPool;
using detail::TurnExecutor;
using testing::ScriptedJob;
using testing::SeededChooser;
using testing::Trace;
using State = ReplicaProgress::State;

// The watch of the calling thread, for the lifetime of the object.
class Watch final : public StallWatch {
 public:
  Watch() : before_(set_stall_watch(this)) {}
  ~Watch() override { set_stall_watch(before_); }

  void run_began(RunProgress& run) override {
    runs.push_back(&run);
    most = std::max(most, runs.size());
  }
  void run_ended(RunProgress& run) noexcept override {
    EXPECT_EQ(runs.back(), &run);
    runs.pop_back();
  }
  const RunProgress& run() const { return *runs.back(); }
  State state_of(std::size_t replica) const { return run().replicas()[replica].state; }

  std::vector<RunProgress*> runs;
  std::size_t most = 0;

 private:
  StallWatch* before_;
};

using Make = std::unique_ptr<Executor> (*)(const ExecutorParts&);

// A trace and the choices of a run with merges, steps and a wait for a stream.
std::pair<std::vector<std::string>, std::vector<std::uint32_t>> seen(Make make, std::uint64_t seed,
                                                                     bool concurrent) {
  Trace trace;
  SeededChooser chooser(seed);
  testing::CountdownStreams streams(&trace, {3, 5});
  const auto executor = make({.chooser = &chooser, .sink = &trace, .agents = &streams});
  streams.executor = executor.get();
  ScriptedJob job(*executor, 3, [&](ScriptedJob& self, int replica) {
    self.step(replica, 7);
    self.meet(replica);
    if (replica < 2) {
      const auto stream = static_cast<std::size_t>(replica);
      if (!streams.done(stream)) self.wait_at(replica, streams.gate(stream));
    }
    self.meet(replica);
  });
  job.run(concurrent);
  return {trace.lines(), chooser.counts};
}

TEST(TrackedRun, HasTheTraceAndTheChoicesOfARunWithoutAWatch) {
  for (const Make make : {make_fiber_executor, make_baton_executor}) {
    for (const std::uint64_t seed : {0U, 1U, 2U, 3U, 4U}) {
      const auto expected = seen(make, seed, seed != 4);
      const Watch watch;
      EXPECT_EQ(seen(make, seed, seed != 4), expected) << "seed " << seed;
      EXPECT_EQ(watch.most, 1U);
    }
  }
}

TEST(TrackedRun, TellsWhoseTurnItIsAndWhereTheOthersAre) {
  for (const Make make : {make_fiber_executor, make_baton_executor}) {
    Watch watch;
    const auto executor = make({});
    // In the serial schedule: replica 0 up to its merge, replica 1, then replica 2.
    ScriptedJob job(*executor, 3, [&](ScriptedJob& self, int replica) {
      const detail::Unwatched unwatched;
      const auto own = static_cast<std::size_t>(replica);
      EXPECT_EQ(watch.run().turn(), replica);
      EXPECT_EQ(watch.state_of(own), State::kRunning);
      for (std::size_t i = 0; i < own; ++i) EXPECT_EQ(watch.state_of(i), State::kAtMerge);
      for (std::size_t i = own + 1; i < 3; ++i) EXPECT_EQ(watch.state_of(i), State::kNotStarted);
      EXPECT_NE(::pthread_equal(watch.run().replicas()[own].thread, ::pthread_self()), 0);
      self.meet(replica);
      for (std::size_t i = own + 1; i < 3; ++i) EXPECT_EQ(watch.state_of(i), State::kRunning);
      for (std::size_t i = 0; i < own; ++i) EXPECT_EQ(watch.state_of(i), State::kEnded);
    });
    job.on_merge = [&] {
      EXPECT_EQ(watch.run().turn(), RunProgress::kCaller);
      EXPECT_EQ(watch.run().facts().carrier, executor->name());
    };
    job.run(false);
    EXPECT_EQ(job.merges, 1);
    EXPECT_TRUE(watch.runs.empty());
  }
}

TEST(TrackedRun, CountsEachStepOfAReplicaAndOfAStream) {
  Watch watch;
  testing::CountdownStreams streams(nullptr, {4});
  const auto executor = make_fiber_executor({.agents = &streams});
  streams.executor = executor.get();
  std::vector<std::uint64_t> moves;
  ScriptedJob job(*executor, 1, [&](ScriptedJob& self, int replica) {
    for (int i = 0; i < 3; ++i) {
      moves.push_back(watch.moves());
      self.step(replica, 1);
    }
    moves.push_back(watch.moves());
    self.wait_at(replica, streams.gate(0));
    moves.push_back(watch.moves());
  });
  job.run(false);
  ASSERT_EQ(moves.size(), 5U);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(moves[i], moves[i - 1] + 1);
  // The wait, the turn of the caller, the job's answer that replicas wait, four steps of the
  // stream, and the turn of the replica.
  EXPECT_EQ(moves[4], moves[3] + 8);
}

TEST(TrackedRun, KnowsThePageBelowTheStackOfTheTurn) {
  StackPool pool(StackPool::Guards::kPages);
  constexpr std::size_t kBytes = 64 << 10;
  std::vector<Stack> stacks;
  pool.take(kBytes, 2, stacks);
  const std::vector<Stack> known = stacks;
  pool.give(kBytes, stacks);
  Watch watch;
  TurnExecutor executor(CarrierKind::kFiber, {.stack_bytes = kBytes}, pool);
  int found = 0;
  ScriptedJob job(executor, 2, [&](ScriptedJob& self, int replica) {
    self.meet(replica);
    const detail::Unwatched unwatched;
    const auto* const here = static_cast<const char*>(__builtin_frame_address(0));
    for (const Stack& stack : known) {
      const bool own = here >= stack.low && here < stack.high;
      found += own ? 1 : 0;
      EXPECT_EQ(watch.run().is_below_stack(stack.low - 1), own);
      EXPECT_EQ(watch.run().is_below_stack(stack.low - 4096), own);
      EXPECT_FALSE(watch.run().is_below_stack(stack.low - 4097));
      EXPECT_FALSE(watch.run().is_below_stack(stack.low));
    }
  });
  job.on_merge = [&] { EXPECT_FALSE(watch.run().is_below_stack(known[0].low - 1)); };
  job.run();
  EXPECT_EQ(found, 2);
}

// A job whose failed replicas leave their merge by an exception.
class StalledJob final : public Job {
 public:
  explicit StalledJob(ScriptedJob& inner) : inner_(inner) {}
  void body(int replica) noexcept override { inner_.body(replica); }
  Settled settle() noexcept override { return inner_.settle(); }
  void deadlock(const std::vector<int>& blocked) noexcept override { inner_.deadlock(blocked); }
  void stalled(int replica, std::uint32_t limit_ms) noexcept override {
    stalls.emplace_back(replica, limit_ms);
    inner_.end(replica);
  }

  std::vector<std::pair<int, std::uint32_t>> stalls;

 private:
  ScriptedJob& inner_;
};

// Replica 1 sleeps for ever in place of a handler of a signal.
TEST(TrackedRun, GoesOnWithoutAReplicaThatWasLeftBehind) {
  // Replica 1 never ends: its semaphores are never destroyed.
  static Semaphore& asleep = *new Semaphore;
  static Semaphore& never = *new Semaphore;
  Watch watch;
  const auto executor = make_baton_executor({});
  std::vector<int> after;
  ScriptedJob script(*executor, 3, [&](ScriptedJob& self, int replica) {
    self.meet(replica);
    if (replica == 1) {
      asleep.post();
      never.wait();
    }
    after.push_back(replica);
    self.meet(replica);
  });
  StalledJob job(script);
  std::thread watchman([&] {
    asleep.wait();
    RunProgress& run = *watch.runs.back();
    EXPECT_EQ(run.turn(), 1);
    EXPECT_TRUE(run.can_leave_behind());
    run.leave_behind(5);
  });
  executor->carry(3, job, {});
  watchman.join();
  EXPECT_EQ(job.stalls, (std::vector<std::pair<int, std::uint32_t>>{{1, 5}}));
  EXPECT_EQ(after, (std::vector<int>{0, 2}));
  EXPECT_EQ(script.merges, 2);
  // The executor is as good as new.
  ScriptedJob again(*executor, 3, [](ScriptedJob& self, int replica) { self.meet(replica); });
  again.run();
  EXPECT_EQ(again.merges, 1);
}

TEST(TrackedRun, OfAllReplicasAtOnceHasNoTurn) {
  Watch watch;
  const auto executor = make_concurrent_executor({});
  ScriptedJob job(*executor, 2, [&](ScriptedJob& self, int replica) {
    EXPECT_EQ(watch.run().turn(), RunProgress::kAll);
    self.meet(replica);
  });
  job.on_merge = [&] {
    EXPECT_EQ(watch.run().turn(), RunProgress::kCaller);
    EXPECT_EQ(watch.state_of(0), State::kAtMerge);
    EXPECT_EQ(watch.state_of(1), State::kAtMerge);
    EXPECT_FALSE(watch.run().can_leave_behind());
  };
  job.run();
  EXPECT_EQ(job.merges, 1);
  EXPECT_EQ(watch.most, 1U);
}

TEST(StallWatch, IsOfOneThread) {
  const Watch watch;
  EXPECT_EQ(stall_watch(), &watch);
  StallWatch* elsewhere = stall_watch();
  std::thread([&] { elsewhere = stall_watch(); }).join();
  EXPECT_EQ(elsewhere, nullptr);
  {
    const Watch inner;
    EXPECT_EQ(stall_watch(), &inner);
  }
  EXPECT_EQ(stall_watch(), &watch);
}

}  // namespace
}  // namespace belfry::tracked_run_test
