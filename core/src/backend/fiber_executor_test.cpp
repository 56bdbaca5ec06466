// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/testing/scripted_job.h"
#include "backend/turn_executor.h"
#include "words/report_of_test.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <vector>

namespace belfry::fiber_executor_test {
namespace {

using detail::CarrierKind;
using detail::Stack;
using detail::StackPool;
using detail::TurnExecutor;
using testing::ScriptedJob;
using testing::SeededChooser;
using testing::Trace;

// ThreadSanitizer knows at most a few thousand fibers.
constexpr int kMany = detail::kTsan ? 2000 : 100'000;

// Uses `bytes` of stack, page by page, with an access to every page. Each frame reads the frame
// above: no compiler can make a loop of the recursion.
__attribute__((noinline)) std::size_t use_stack(std::size_t bytes, volatile char* above = nullptr) {
  volatile char page[3800];
  page[0] = above == nullptr ? 1 : *above;
  page[sizeof(page) - 1] = 1;
  const std::size_t below = bytes > 4096 ? use_stack(bytes - 4096, page) : 0;
  return below + static_cast<std::size_t>(page[0]);
}

TEST(FiberExecutor, AReplicaHasNearlyAllOfItsStack) {
  const auto executor = make_fiber_executor({});
  // Sanitizers make frames larger: theirs are given less to do.
#if defined(BELFRY_ASAN) || defined(BELFRY_TSAN)
  constexpr std::size_t kDeep = std::size_t{200} << 10;
#else
  constexpr std::size_t kDeep = std::size_t{400} << 10;
#endif
  std::vector<std::size_t> pages(4);
  ScriptedJob job(*executor, 4, [&](ScriptedJob& self, int replica) {
    self.meet(replica);
    pages[static_cast<std::size_t>(replica)] = use_stack(kDeep);
    self.meet(replica);
  });
  job.run();
  EXPECT_EQ(pages, std::vector<std::size_t>(4, kDeep / 4096));
}

// Threads have stacks of the system.
TEST(FiberExecutor, RefusesStacksOutOfBounds) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{32767}, (std::size_t{1} << 30) + 1}) {
    EXPECT_THROW(make_fiber_executor({.stack_bytes = bytes}), InvalidArgumentError) << bytes;
    EXPECT_NO_THROW(make_baton_executor({.stack_bytes = bytes})) << bytes;
  }
  EXPECT_NO_THROW(make_fiber_executor({.stack_bytes = 32768}));
  EXPECT_NO_THROW(make_fiber_executor({.stack_bytes = std::size_t{1} << 30}));
}

TEST(FiberExecutorDeathTest, AStackThatOverflowsEndsTheProcessAtTheGuard) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto executor = make_fiber_executor({.stack_bytes = 64 << 10});
  ScriptedJob job(*executor, 1, [](ScriptedJob&, int) { use_stack(std::size_t{1} << 20); });
  EXPECT_DEATH(job.run(), "");
}

TEST(FiberExecutor, WithoutGuardsAnOverflowIsReportedAfterTheRun) {
  StackPool pool(StackPool::Guards::kNone);
  constexpr std::size_t kBytes = 64 << 10;
  // The stacks that the replicas of the next run will use.
  std::vector<Stack> stacks;
  pool.take(kBytes, 4, stacks);
  const std::vector<Stack> known = stacks;
  pool.give(kBytes, stacks);
  TurnExecutor executor(CarrierKind::kFiber, {.stack_bytes = kBytes}, pool);
  int feet = 0;
  ScriptedJob job(executor, 4, [&](ScriptedJob& self, int replica) {
    self.meet(replica);
    if (replica != 2) return;
    // Writes as a frame at the foot of the stack would.
    auto* const here = static_cast<char*>(__builtin_frame_address(0));
    for (const Stack& stack : known) {
      if (here < stack.low || here >= stack.high) continue;
      *static_cast<volatile char*>(stack.low + 100) = 1;
      ++feet;
    }
  });
  const ErrorReport report = report_of([&] { job.run(); });
  EXPECT_EQ(report.code, ErrorCode::kStackOverflow);
  EXPECT_EQ(report.summary, "replica 2 used more stack than the 64 KiB it has");
  EXPECT_EQ(feet, 1);
  // The damaged stack is not used again: the next run is clean.
  ScriptedJob again(executor, 4, [](ScriptedJob& self, int replica) { self.meet(replica); });
  again.run();
  EXPECT_EQ(again.merges, 1);
}

TEST(FiberExecutor, CarriesManyReplicas) {
  SeededChooser chooser(3);
  const auto executor = make_fiber_executor({.chooser = &chooser});
  std::vector<int> rounds(kMany, 0);
  ScriptedJob job(*executor, kMany, [&](ScriptedJob& self, int replica) {
    for (int i = 0; i < 3; ++i) {
      self.step(replica, 1);
      self.meet(replica);
      ++rounds[static_cast<std::size_t>(replica)];
    }
  });
  job.run();
  EXPECT_EQ(rounds, std::vector<int>(kMany, 3));
  EXPECT_EQ(job.merges, 3);
}

TEST(FiberExecutor, BodiesThatNeverWaitShareAStack) {
  if (detail::kTsan) {
    SUCCEED() << "every body has a history of its own there";
    return;
  }
  StackPool pool;
  TurnExecutor executor(CarrierKind::kFiber, {}, pool);
  std::uintptr_t first = 0;
  int elsewhere = 0;
  ScriptedJob job(executor, 1000, [&](ScriptedJob&, int) {
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    if (first == 0) first = here;
    elsewhere += here != first ? 1 : 0;
  });
  job.run();
  EXPECT_EQ(elsewhere, 0);
}

#ifdef BELFRY_TSAN
TEST(FiberExecutorDeathTest, ThreadSanitizerSeesReplicasThatShareMemoryWithoutAMerge) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto share = [](bool merge_between) {
    const auto executor = make_fiber_executor({});
    int shared = 0;
    ScriptedJob job(*executor, 2, [&](ScriptedJob& self, int replica) {
      if (replica == 0) ++shared;
      if (merge_between) self.meet(replica);
      if (replica == 1) ++shared;
    });
    job.run();
    std::exit(0);
  };
  // ThreadSanitizer exits with 66 after any report.
  EXPECT_EXIT(share(false), ::testing::ExitedWithCode(66), "data race");
  EXPECT_EXIT(share(true), ::testing::ExitedWithCode(0), "");
}
#endif

// A replica of the outer executor yields to its run while the replica is on a stack of the inner
// executor. The inner executor then has several unrelated runs in flight at once.
TEST(FiberExecutor, RunsOfAnotherExecutorInterleave) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SeededChooser chooser(seed);
    Trace trace;
    const auto outer = make_fiber_executor({.chooser = &chooser, .sink = &trace});
    SeededChooser inner_chooser(seed + 1000);
    const auto inner = make_fiber_executor({.chooser = &inner_chooser});
    std::vector<int> sums(6, 0);
    ScriptedJob job(*outer, 3, [&](ScriptedJob& self, int replica) {
      ScriptedJob nested(*inner, 2, [&](ScriptedJob& nested_self, int nested_replica) {
        for (int i = 0; i < 3; ++i) {
          self.step(replica, 1);
          nested_self.meet(nested_replica);
          try {
            throw replica;
          } catch (int thrown) {
            self.step(replica, 2);
            sums[static_cast<std::size_t>(2 * replica + nested_replica)] +=
                thrown == replica ? 1 : 100;
          }
        }
      });
      nested.run();
      self.meet(replica);
    });
    job.run();
    EXPECT_EQ(sums, std::vector<int>(6, 3)) << seed;
    EXPECT_EQ(job.merges, 1);
  }
}

}  // namespace
}  // namespace belfry::fiber_executor_test
