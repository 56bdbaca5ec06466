// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/executor.h"
#include "belfry/cuda/backend.h"
#include "belfry/sim/driver.h"
#include "support_test.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace belfry::cuda::concurrent_test {
namespace {

constexpr int kReplicas = 4;
constexpr int kSteps = 20;

/// Replicas that compute on their devices at the same time and never meet.
class Bodies final : public Job {
 public:
  explicit Bodies(Backend& backend) : backend_(backend), results_(kReplicas) {}

  void body(int replica) noexcept override {
    belfry::Device& device = backend_.device(replica);
    belfry::Stream& compute = device.compute_stream();
    belfry::Stream& other = device.communication_stream();
    std::int32_t value = replica;
    BufferView view = view_of(device.allocate(sizeof value, compute), DType::kInt32);
    compute.write(view, &value);
    const auto event = device.create_event();
    for (int step = 0; step < kSteps; ++step) {
      Kernel shift;
      shift.kind = KernelKind::kUnary;
      shift.parameters.unary = UnaryOp::kShift;
      shift.parameters.integer_scalar = 1;
      shift.outputs = {view};
      shift.inputs = {view};
      belfry::Stream& stream = step % 2 == 0 ? other : compute;
      stream.wait(*event);
      if (step == 0) {
        compute.record(*event);
        stream.wait(*event);
      }
      stream.launch(shift);
      stream.record(*event);
    }
    compute.wait(*event);
    compute.read(&results_[static_cast<std::size_t>(replica)], view);
    ++ended_;
  }
  Settled settle() noexcept override {
    return ended_ == kReplicas ? Settled::kFinished : Settled::kResumed;
  }
  void deadlock(const std::vector<int>& /*blocked*/) noexcept override { deadlocked_ = true; }

  const std::vector<std::int32_t>& results() const { return results_; }
  bool deadlocked() const { return deadlocked_; }

 private:
  Backend& backend_;
  std::vector<std::int32_t> results_;
  std::atomic<int> ended_{0};
  std::atomic<bool> deadlocked_{false};
};

void run_on(std::vector<int> gpus, std::uint64_t seed) {
  const sim::SimulatedDriver machine({.gpus = 4, .seed = seed});
  {
    Backend backend{{.devices = std::move(gpus)}};
    Bodies bodies(backend);
    backend.executor().carry(kReplicas, bodies, {});
    EXPECT_FALSE(bodies.deadlocked());
    for (int replica = 0; replica < kReplicas; ++replica) {
      EXPECT_EQ(bodies.results()[static_cast<std::size_t>(replica)], replica + kSteps);
    }
    EXPECT_EQ(backend.statistics().kernel_launches, std::uint64_t{kReplicas} * kSteps);
  }
  EXPECT_EQ(machine.reports(), std::vector<std::string>{});
  EXPECT_EQ(machine.alive(), std::vector<std::string>{});
}

TEST(ConcurrentReplicas, ShareOneGpu) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) run_on({0, 0, 0, 0}, seed);
}

TEST(ConcurrentReplicas, HaveOneGpuEach) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) run_on({0, 1, 2, 3}, seed);
}

}  // namespace
}  // namespace belfry::cuda::concurrent_test
