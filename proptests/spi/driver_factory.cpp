// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/sim/driver.h"
#include "cuda_factory.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

// The CUDA backend on the simulated driver, BELFRY_DEVICES_PER_GPU to a GPU.
namespace belfry::testing {
namespace {

/// The machine of the test that runs: new for each, and at its end nothing may be left on it and
/// nothing have been misused.
class FreshMachine final : public ::testing::EmptyTestEventListener {
 public:
  void OnTestStart(const ::testing::TestInfo& /*test*/) override {
    machine_ = std::make_unique<sim::SimulatedDriver>();
  }
  void OnTestEnd(const ::testing::TestInfo& /*test*/) override {
    EXPECT_EQ(machine_->alive(), std::vector<std::string>{});
    EXPECT_EQ(machine_->reports(), std::vector<std::string>{});
    machine_.reset();
  }
  sim::SimulatedDriver& machine() { return *machine_; }

 private:
  std::unique_ptr<sim::SimulatedDriver> machine_;
};

/// Orders the work of streams by the seed of the latest request.
class DriverFactory final : public CudaFactory {
 public:
  DriverFactory() : CudaFactory(BELFRY_DEVICES_PER_GPU) {
    // GoogleTest owns it.
    ::testing::UnitTest::GetInstance()->listeners().Append(machine_);
  }

  std::string_view name() const override { return "cuda on the simulated driver"; }
  std::unique_ptr<Backend> make(const BackendRequest& request) const override {
    machine_->machine().reseed(request.seed);
    return CudaFactory::make(request);
  }

 private:
  FreshMachine* machine_ = new FreshMachine;
};

const DriverFactory& factory() {
  static const DriverFactory factory;
  return factory;
}

}  // namespace

const BackendFactory& backend_factory() { return factory(); }

}  // namespace belfry::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  static_cast<void>(belfry::testing::backend_factory());
  return RUN_ALL_TESTS();
}
