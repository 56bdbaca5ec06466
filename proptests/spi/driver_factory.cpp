// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/cuda/backend.h"
#include "belfry/sim/driver.h"
#include "belfry/testing/backend_factory.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

// The CUDA backend on the simulated driver. The seed chooses all devices on a single GPU, a GPU for
// each device, or two devices on each GPU: every kind of communicator.
namespace belfry::testing {
namespace {

/// Without the failures of bodies of kernels, which the host wait has thrown: no misuses.
std::vector<std::string> misuses(const sim::SimulatedDriver& machine) {
  std::vector<std::string> reports = machine.reports();
  std::erase_if(reports, [](const std::string& report) {
    return report.find(": the body of kernel ") != std::string::npos;
  });
  return reports;
}

/// The simulated machine of the running test. Each test gets a new machine. At the end of the test
/// nothing may be left over, and no function may have been misused.
class FreshMachine final : public ::testing::EmptyTestEventListener {
 public:
  void OnTestStart(const ::testing::TestInfo& /*test*/) override {
    machine_ = std::make_unique<sim::SimulatedDriver>();
  }
  void OnTestEnd(const ::testing::TestInfo& /*test*/) override {
    EXPECT_EQ(machine_->alive(), std::vector<std::string>{});
    EXPECT_EQ(misuses(*machine_), std::vector<std::string>{});
    machine_.reset();
  }
  sim::SimulatedDriver& machine() { return *machine_; }

 private:
  std::unique_ptr<sim::SimulatedDriver> machine_;
};

/// Orders the work of streams by the seed of the latest request.
class DriverFactory final : public BackendFactory {
 public:
  DriverFactory() {
    // GoogleTest owns the listener.
    ::testing::UnitTest::GetInstance()->listeners().Append(machine_);
  }

  std::string_view name() const override { return "cuda on the simulated driver"; }
  std::unique_ptr<Backend> make(const BackendRequest& request) const override {
    machine_->machine().reseed(request.seed);
    cuda::Options options;
    options.warm_up = false;
    const auto devices_per_gpu = static_cast<int>(request.seed % 3);
    for (int index = 0; index < request.devices; ++index) {
      options.devices.push_back(devices_per_gpu == 0 ? 0 : index / devices_per_gpu);
    }
    return std::make_unique<cuda::Backend>(options);
  }
  DeviceWork work(Backend& backend) const override {
    const cuda::Statistics done = static_cast<cuda::Backend&>(backend).statistics();
    return {done.kernel_launches + done.copy.calls, done.collectives()};
  }
  std::string replay_token(Backend& /*backend*/) const override { return {}; }

 private:
  FreshMachine* machine_ = new FreshMachine;
};

}  // namespace

const BackendFactory& backend_factory() {
  static const DriverFactory factory;
  return factory;
}

}  // namespace belfry::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  static_cast<void>(belfry::testing::backend_factory());
  return RUN_ALL_TESTS();
}
