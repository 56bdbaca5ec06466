// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The memory of devices in exchanges.
#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "belfry/testing/asserts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>

namespace belfry::sim::exchange_memory_test {
namespace {

using ::testing::Each;

constexpr std::size_t kWhole = 64 * 256 * sizeof(float);

// Four devices with room for a tensor of 64 rows and for a quarter of it.
void scatter_in_little_memory(const StrategyOptions& options) {
  Backend backend{{.devices = 4, .memory_limit_bytes = kWhole / 4 * 5}};
  MirroredStrategy strategy{backend, options};
  const auto parts = strategy.run([](ReplicaContext& replica) {
    const auto id = static_cast<float>(replica.replica_id());
    return replica.reduce_scatter(ReduceOp::kSum, Tensor<float>::full({64, 256}, 1 + id), Axis(0))
        .to_host();
  });
  for (const auto& part : parts) EXPECT_THAT(part, Each(10));
}

// Without a named order, the communicator scatters. In tree order, kernels need the rows of all
// replicas on the device of the owner.
TEST(ExchangeMemory, IsATensorAndItsPart) {
  ::belfry::testing::asserts("SEM-261");
  scatter_in_little_memory({});
  EXPECT_THROW(scatter_in_little_memory({.order = ReductionOrder::kTree}), DeviceError);
}

}  // namespace
}  // namespace belfry::sim::exchange_memory_test
