// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The devices of a process, all on the first GPU of the machine.
#include "belfry/cuda/backend.h"
#include "belfry/testing/backend_factory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace belfry::testing {
namespace {

std::uint64_t joined = 0;  // The collectives of NCCL that have reduced or copied.

class OneGpu final : public BackendFactory {
 public:
  std::string_view name() const override { return "one GPU of several processes"; }
  std::unique_ptr<Backend> make(const BackendRequest& request) const override {
    const auto devices = static_cast<std::size_t>(request.devices);
    return std::make_unique<cuda::Backend>(
        cuda::Options{.devices = std::vector<int>(devices, 0),
                      .replicas_per_gpu = devices > 0 ? 1 : 0,
                      .memory_limit_bytes = request.memory_limit_bytes,
                      .warm_up = false,
                      .verify_mirrored = true});
  }
  DeviceWork work(Backend& backend) const override {
    const cuda::Statistics done = static_cast<cuda::Backend&>(backend).statistics();
    joined += done.nccl_collectives;
    return {done.kernel_launches, done.collectives()};
  }
  std::string replay_token(Backend& /*backend*/) const override { return {}; }
};

// Fails the tests if no tensor went through NCCL.
class CallsOfNccl final : public ::testing::Environment {
 public:
  void TearDown() override {
    const ::testing::UnitTest& run = *::testing::UnitTest::GetInstance();
    // A single property may have host values alone.
    if (run.test_to_run_count() < run.total_test_count() / 2) return;
    EXPECT_GT(joined, 0U) << "NCCL was not used";
  }
};

[[maybe_unused]] ::testing::Environment* const calls =
    ::testing::AddGlobalTestEnvironment(new CallsOfNccl);

}  // namespace

const BackendFactory& backend_factory() {
  static const OneGpu factory;
  return factory;
}

}  // namespace belfry::testing
