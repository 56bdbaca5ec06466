// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/testing/allocation_counter.h"
#include "backend/testing/scripted_job.h"

#include <gtest/gtest.h>

#include <vector>

namespace belfry::fiber_allocation_test {
namespace {

using testing::ScriptedJob;
using testing::SeededChooser;

TEST(FiberAllocation, ARendezvousAllocatesNothing) {
  SeededChooser chooser(11);
  chooser.counts.reserve(1 << 20);
  const auto executor = make_fiber_executor({.chooser = &chooser});
  std::size_t allocations = 0;
  ScriptedJob job(*executor, 8, [&](ScriptedJob& self, int replica) {
    for (int i = 0; i < 10; ++i) self.meet(replica);
    const std::size_t before = testing::allocations();
    for (int i = 0; i < 1000; ++i) self.meet(replica);
    if (replica == 0) allocations = testing::allocations() - before;
  });
  job.run();
  EXPECT_EQ(allocations, 0U);
}

TEST(FiberAllocation, ASecondRunOfTheSameSizeAllocatesNothingEither) {
  const auto executor = make_fiber_executor({});
  ScriptedJob job(*executor, 8, [&](ScriptedJob& self, int replica) { self.meet(replica); });
  job.run();
  struct NoMerge final : Job {
    void body(int) noexcept override {}
    Settled settle() noexcept override { return Settled::kFinished; }
    void deadlock(const std::vector<int>&) noexcept override {}
  } plain;
  const std::size_t before = testing::allocations();
  executor->carry(8, plain, {});
  EXPECT_EQ(testing::allocations() - before, 0U);
}

}  // namespace
}  // namespace belfry::fiber_allocation_test
