// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The simulator's log: values already at their place are not copied (SEM-122, SEM-124).
#include "belfry/belfry.h"
#include "belfry/current.h"
#include "belfry/sim/backend.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "testing/operation_count.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace belfry::sim::fetch_log_test {
namespace {

class CopiesInTheLog : public ::testing::Test {
 protected:
  DeviceSpec device(int index) { return backend_.device_spec(index); }
  Tensor<float> ones() { return Tensor<float>::full({4}, 1, strategy_.placement(0)); }

  /// How many operations of `kind` `work` adds to the log.
  template <class F>
  std::int64_t added(OperationKind kind, F&& work) {
    const auto before = operation_count(backend_, kind);
    work();
    return operation_count(backend_, kind) - before;
  }
  /// Buffers that `work` allocates, each of which is a copy or a result.
  template <class F>
  std::int64_t allocations(F&& work) {
    return added(OperationKind::kAllocate, std::forward<F>(work));
  }

  sim::Backend backend_{{.devices = 4}};
  MirroredStrategy strategy_{backend_, {.devices = {device(0), device(1), device(2)}}};
  CrossReplicaContext& cross_ = strategy_.cross_replica();
};

TEST_F(CopiesInTheLog, FetchOfWhatIsThereIsNone) {
  belfry::testing::asserts("SEM-124");
  const auto mirrored = cross_.broadcast(ones());
  const auto variable = strategy_.mirrored_variable(ones());
  for (int index : {0, 1, 2}) {
    EXPECT_EQ(allocations([&] { cross_.fetch(mirrored, device(index)); }), 0);
    EXPECT_EQ(allocations([&] { cross_.fetch(variable, device(index)); }), 0);
    EXPECT_EQ(added(OperationKind::kEnqueue, [&] { cross_.fetch(mirrored, device(index)); }), 0);
  }
}

TEST_F(CopiesInTheLog, FetchOfWhatIsElsewhereIsOne) {
  belfry::testing::asserts("SEM-124");
  const auto mirrored = cross_.broadcast(ones());
  EXPECT_EQ(allocations([&] { cross_.fetch(mirrored, device(3)); }), 1);
  const auto one = cross_.broadcast(ones(), device(1));
  EXPECT_EQ(allocations([&] { cross_.fetch(one, device(0)); }), 1);
}

// The host reads compared components, but not a single component (SEM-11).
TEST_F(CopiesInTheLog, FetchOfAVariableReadsComponentsToCompare) {
  const auto reads = [this](auto&& fetch) { return added(OperationKind::kHostRead, fetch); };
  const auto three = strategy_.mirrored_variable(ones());
  EXPECT_EQ(reads([&] { cross_.fetch(three, device(1)); }), 3);
  EXPECT_EQ(reads([&] { cross_.fetch(cross_.broadcast(ones()), device(1)); }), 0);
  const std::vector<DeviceSpec> place{device(0)};
  const auto scope = strategy_.colocate_variables_with(place);
  const auto one = strategy_.mirrored_variable(ones());
  EXPECT_EQ(reads([&] { cross_.fetch(one, device(1)); }), 0);
  EXPECT_EQ(reads([&] { strategy_.read(one); }), 0);
}

TEST_F(CopiesInTheLog, FetchComputesWhereTheValueIs) {
  // The function makes a single number of four, and a single number is copied.
  const auto sum = [](const Tensor<float>& x) { return row_sum(x.reshaped({1, 4})); };
  const auto one = cross_.broadcast(ones(), device(1));
  std::optional<DeviceSpec> computed_on;
  const auto seen = [&](const Tensor<float>& x) {
    computed_on = current_device();
    return sum(x);
  };
  const auto live = [&](int index) {
    // Earlier buffers are freed, also those that copies of other devices read.
    for (int each = 0; each < 4; ++each) backend_.device(each).compute_stream().synchronize();
    return backend_.device(index).memory().live_bytes;
  };
  const auto before = live(0);
  const Tensor<float> fetched = cross_.fetch(one, device(0), seen);
  EXPECT_EQ(computed_on, device(1));
  EXPECT_EQ(fetched.placement(), strategy_.placement(0));
  EXPECT_EQ(fetched.item(), 4);
  EXPECT_EQ(live(0) - before, fetched.any().view().buffer->bytes());
  // A component on the wanted device is used.
  cross_.fetch(cross_.broadcast(ones()), device(2), seen);
  EXPECT_EQ(computed_on, device(2));
}

TEST_F(CopiesInTheLog, ReduceToItsOwnDevicesCopiesNothingMore) {
  const auto values = strategy_.run([](ReplicaContext&) { return Tensor<float>::full({4}, 1); });
  const auto plain = allocations([&] { cross_.reduce(ReduceOp::kSum, values); });
  EXPECT_EQ(allocations([&] { cross_.reduce(ReduceOp::kSum, values, values); }), plain);
  EXPECT_EQ(allocations([&] { cross_.reduce(ReduceOp::kSum, values, device(1)); }), plain);
  EXPECT_EQ(allocations([&] { cross_.reduce(ReduceOp::kSum, values, device(3)); }), plain + 1);
}

TEST_F(CopiesInTheLog, AllGatherOfEqualPartsIsOneCollective) {
  const auto gather = [](ReplicaContext& replica) {
    return replica.all_gather(Tensor<float>::full({2, 2}, 1), Axis(0));
  };
  // An operation for each device that takes part.
  EXPECT_EQ(added(OperationKind::kCollective,
                  [&] {
                    for (const auto& part : strategy_.run(gather)) part.to_host();
                  }),
            3);
}

}  // namespace
}  // namespace belfry::sim::fetch_log_test
