// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Stacks without guard pages: the error after the run names the replica and the replica's last
// merge (BF-067).
#include "backend/stack_pool.h"
#include "backend/turn_executor.h"
#include "belfry/strategies.h"
#include "belfry/testing/each_place.h"
#include "run/testing/borrowed_devices.h"
#include "run/testing/error_of_test.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <vector>

namespace belfry::stack_overflow_test {
namespace {

using detail::CarrierKind;
using detail::Stack;
using detail::StackPool;
using detail::TurnExecutor;

constexpr std::size_t kBytes = std::size_t{64} << 10;
constexpr CallSite kHere{"train.cc", 11};
constexpr CallSite kThere{"train.cc", 22};

// Replicas run on stacks without guard pages.
class Unguarded final : public BorrowedDevices {
 public:
  Unguarded() : BorrowedDevices(3) {}

  Executor& executor() override { return executor_; }

  // Writes to the foot of the calling replica's stack, as too large a frame would.
  void overflow() const {
    const auto* const here = static_cast<char*>(__builtin_frame_address(0));
    for (const Stack& stack : stacks_) {
      if (here < stack.low || here >= stack.high) continue;
      *static_cast<volatile char*>(stack.low + 100) = 1;
      return;
    }
    ADD_FAILURE() << "the replica is on none of the known stacks";
  }

 private:
  static std::vector<Stack> known(StackPool& pool) {
    std::vector<Stack> stacks;
    pool.take(kBytes, 3, stacks);
    const std::vector<Stack> copy = stacks;
    pool.give(kBytes, stacks);
    return copy;
  }

  StackPool pool_{StackPool::Guards::kNone};
  std::vector<Stack> stacks_ = known(pool_);
  TurnExecutor executor_{CarrierKind::kFiber, {.stack_bytes = kBytes}, pool_};
};

ErrorReport failure_of(MirroredStrategy& strategy,
                       const std::function<void(ReplicaContext&)>& body) {
  try {
    strategy.run_at(kThere, body);
    ADD_FAILURE() << "nothing was thrown";
    return {};
  } catch (const DeviceError& error) {
    EXPECT_EQ(to_string(error.report()), error.what());
    return error.report();
  }
}

TEST(StackOverflow, NamesTheReplicaAndItsLastMerge) {
  testing::at_each_place(3, [](int odd) {
    Unguarded backend;
    MirroredStrategy strategy(backend);
    const auto body = [&](ReplicaContext& replica) {
      replica.all_reduce(ReduceOp::kSum, 1, kHere);
      if (replica.replica_id() == odd) backend.overflow();
    };
    const std::string name = "replica " + std::to_string(odd);
    const std::string what = "train.cc:11  used more stack than it has, and ended after merge #1";
    EXPECT_EQ(to_string(failure_of(strategy, body)),
              "BF-067 " + name + " used more stack than the 64 KiB it has\n  " + name + "  " +
                  what + "\n  hint: keep large data on the heap, or ask for larger stacks");
    EXPECT_EQ(to_string(strategy.last_failure().value()),
              "BF-067 " + name + " used more stack than the 64 KiB it has\n" +
                  lines_of_three(odd, "train.cc:11  returned after merge #1", what) +
                  "  hint: keep large data on the heap, or ask for larger stacks");
    strategy.run([](ReplicaContext& replica) { replica.all_reduce(ReduceOp::kSum, 1); });
  });
}

TEST(StackOverflow, OutranksOtherFailures) {
  testing::at_each_place(3, [](int odd) {
    Unguarded backend;
    MirroredStrategy strategy(backend);
    const auto body = [&](ReplicaContext& replica) {
      if (replica.replica_id() == odd) backend.overflow();
      replica.all_reduce(ReduceOp::kSum, 1, kHere);
      throw std::runtime_error("a consequence");
    };
    EXPECT_EQ(failure_of(strategy, body).replicas.at(0).replica_id, odd);
  });
}

TEST(StackOverflow, BeforeAnyMergeHasTheCallOfRun) {
  Unguarded backend;
  MirroredStrategy strategy(backend);
  const auto body = [&](ReplicaContext& replica) {
    if (replica.replica_id() == 1) backend.overflow();
  };
  EXPECT_EQ(to_string(failure_of(strategy, body)),
            "BF-067 replica 1 used more stack than the 64 KiB it has\n"
            "  at train.cc:22\n"
            "  replica 1  used more stack than it has, and ended before its first merge\n"
            "  hint: keep large data on the heap, or ask for larger stacks");
}

}  // namespace
}  // namespace belfry::stack_overflow_test
