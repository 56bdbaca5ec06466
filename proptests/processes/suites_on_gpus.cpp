// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The suites in 1 to 3 processes with 0 to 4 GPUs each, whose devices are the ranks of one NCCL
// communicator on the simulated driver. The processes are threads, and draw the same values.
#include "belfry/cuda/backend.h"
#include "belfry/sim/driver.h"
#include "belfry/testing/described.h"
#include "no_races.h"
#include "processes/gpu_cases.h"
#include "processes/suites_over_processes.h"
#include "suites/case_places.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace belfry::testing {
namespace {

constexpr int kMostProcesses = 3;
constexpr int kMostDevices = 4;

// Counts the work of the backends of processes.
class OfProcesses final : public BackendFactory {
 public:
  std::string_view name() const override { return "GPUs of several processes"; }
  std::unique_ptr<Backend> make(const BackendRequest& /*request*/) const override {
    throw std::logic_error("a process makes its backend itself");
  }
  DeviceWork work(Backend& backend) const override {
    const cuda::Statistics done = static_cast<cuda::Backend&>(backend).statistics();
    return {done.kernel_launches, done.collectives()};
  }
  std::string replay_token(Backend& /*backend*/) const override { return {}; }
};

// Whether NCCL has combined the values of several processes: a process with a single device has
// called NCCL.
std::atomic<bool> g_has_joined = false;

class CallsOfNccl final : public ::testing::Environment {
 public:
  void TearDown() override {
    const ::testing::UnitTest& run = *::testing::UnitTest::GetInstance();
    // A single property may have host values alone.
    if (run.test_to_run_count() < run.total_test_count() / 2) return;
    EXPECT_TRUE(g_has_joined) << "no NCCL communicator over several processes was used";
  }
};

class OnGpus final : public CasePlaces {
 public:
  DeviceWork check(const std::function<void(const CasePlace&)>& run_case,
                   const std::function<DeviceWork()>& /*own_work*/) const override {
    rc::detail::checkGTest(described([&run_case] {
      const int processes =
          *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(1, kMostProcesses + 1))
               .as("processes");
      const auto devices_of = *device_counts_of(processes).as("devices of processes");
      const auto carrier = *rc::gen::element(cuda::Carrier::kConcurrent, cuda::Carrier::kFiber,
                                             cuda::Carrier::kBaton);
      on_gpus(devices_of, carrier, [&run_case](const ProcessPlace& place) {
        run_case({place, suite_strategies()});
        const auto& backend = static_cast<const cuda::Backend&>(*place.backend);
        const bool is_single = place.group.size() > 1 && place.devices() == 1;
        if (is_single && backend.statistics().nccl_collectives > 0) g_has_joined = true;
      });
    }));
    return {};
  }
};

}  // namespace

const BackendFactory& backend_factory() {
  static const OfProcesses factory;
  return factory;
}

}  // namespace belfry::testing

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const belfry::sim::SimulatedDriver machine(
      {.gpus = belfry::testing::kMostProcesses * belfry::testing::kMostDevices,
       .pageable_read_late = true});
  belfry::testing::leave_out_tests();
  testing::AddGlobalTestEnvironment(new belfry::testing::CallsOfNccl);
  testing::AddGlobalTestEnvironment(new belfry::testing::NoRaces(machine));
  const belfry::testing::OnGpus places;
  belfry::testing::case_places = &places;
  return RUN_ALL_TESTS();
}
