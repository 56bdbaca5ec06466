// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Memory runs out at each allocation of every case: on each carrier, with each strategy, for a
// single allocation and for all later allocations, and in the host half of CUDA.
#include "belfry/backend/host_backend.h"
#include "belfry/cuda/backend.h"
#include "belfry/sim/driver.h"
#include "belfry/strategies.h"
#include "memory/memory_settings.h"

#include <gtest/gtest.h>

namespace belfry::testing {
namespace {

constexpr Shortage kShortages[] = {Shortage::kOnce, Shortage::kFromThere};

class MemoryPoints : public ::testing::TestWithParam<MemoryCase> {
 protected:
  static void expect_survival_in(const MemorySetting& setting) {
    for (const Shortage shortage : kShortages) {
      for (const bool warm : {false, true}) {
        SCOPED_TRACE(shortage == Shortage::kOnce ? "one fails" : "all fail from there");
        EXPECT_GT(expect_survival(GetParam(), setting, warm, shortage), 0U);
      }
    }
  }
};

TEST_P(MemoryPoints, OnFibers) { expect_survival_in(simulated<MirroredStrategy>({})); }

TEST_P(MemoryPoints, OnFibersWithEverythingRecordedAndChecked) {
  expect_survival_in(simulated<MirroredStrategy>(
      {.share_copies = false, .digests = sim::Digests::kAll, .check_kernels = true}));
}

TEST_P(MemoryPoints, OnTheBaton) {
  expect_survival_in(simulated<MirroredStrategy>({.carrier = sim::Carrier::kBaton}));
}

TEST_P(MemoryPoints, OnConcurrentThreads) {
  expect_survival_in(simulated<MirroredStrategy>({.carrier = sim::Carrier::kConcurrent}));
}

TEST_P(MemoryPoints, WithCentralStorage) {
  expect_survival_in(simulated<CentralStorageStrategy>({}));
}

TEST_P(MemoryPoints, WithOneDevice) {
  MemorySetting setting = simulated<MirroredStrategy>({});
  setting.strategy = [](Backend& backend) {
    return std::make_unique<OneDeviceStrategy>(backend, backend.device_spec(1));
  };
  expect_survival_in(setting);
}

TEST_P(MemoryPoints, WithTheDefaultStrategy) {
  expect_survival_in({
      .backend = [] { return std::make_unique<HostBackend>(1); },
      .strategy = [](Backend&) { return std::make_unique<DefaultStrategy>(); },
      .live_buffers = nullptr,
      .left_over = nullptr,
  });
}

INSTANTIATE_TEST_SUITE_P(Cases, MemoryPoints, ::testing::ValuesIn(memory_cases()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Kernels, MemoryPoints, ::testing::ValuesIn(kernel_memory_cases()),
                         name_of_case);

using SimulatorMemoryPoints = MemoryPoints;

TEST_P(SimulatorMemoryPoints, OnFibers) { expect_survival_in(simulated<MirroredStrategy>({})); }

INSTANTIATE_TEST_SUITE_P(Cases, SimulatorMemoryPoints,
                         ::testing::ValuesIn(simulator_memory_cases()), name_of_case);

// Allocations of the simulated driver do not count: a real driver would make its own.
class UncountedDriver final : public sim::CallObserver {
 public:
  void enter() noexcept override { exempt().emplace(); }
  void leave() noexcept override { exempt().reset(); }

 private:
  static std::optional<FailingAllocator::Exempt>& exempt() {
    thread_local std::optional<FailingAllocator::Exempt> inside;
    return inside;
  }
};

class CudaMemoryPoints : public MemoryPoints {
 protected:
  MemorySetting on_driver(cuda::Carrier carrier, std::vector<int> devices) {
    return {
        .backend =
            [carrier, devices] {
              return std::make_unique<cuda::Backend>(
                  cuda::Options{.devices = devices, .carrier = carrier});
            },
        .strategy = [](Backend& backend) { return std::make_unique<MirroredStrategy>(backend); },
        .live_buffers = nullptr,
        .left_over = [this] { return driver_.alive(); },
    };
  }

  UncountedDriver uncounted_;
  sim::SimulatedDriver driver_{{.gpus = 2, .pageable_read_late = true, .observer = &uncounted_}};
};

TEST_P(CudaMemoryPoints, OfTwoGpusOnFibers) {
  expect_survival_in(on_driver(cuda::Carrier::kFiber, {0, 1}));
}

TEST_P(CudaMemoryPoints, OfOneGpuOnConcurrentThreads) {
  expect_survival_in(on_driver(cuda::Carrier::kConcurrent, {0, 0}));
}

INSTANTIATE_TEST_SUITE_P(Cases, CudaMemoryPoints, ::testing::ValuesIn(memory_cases()),
                         name_of_case);
INSTANTIATE_TEST_SUITE_P(Kernels, CudaMemoryPoints, ::testing::ValuesIn(kernel_memory_cases()),
                         name_of_case);

}  // namespace
}  // namespace belfry::testing
