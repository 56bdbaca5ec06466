// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The suites on the CUDA backend's host half, over the simulated driver.
#include "belfry/sim/driver.h"
#include "cuda_factory.h"
#include "no_races.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace belfry::testing {
namespace {

sim::SimulatedDriver& driver() {
  static sim::SimulatedDriver machine({.pageable_read_late = true});
  return machine;
}

const CudaFactory& factory() {
  static const CudaFactory made("cuda on the simulated driver",
                                [](std::uint64_t seed) { driver().reseed(seed); });
  return made;
}

#ifndef BELFRY_CONTRACTS_ALONE
// The contracts have wrong algorithms without waits.
[[maybe_unused]] ::testing::Environment* const kNoRaces =
    ::testing::AddGlobalTestEnvironment(new NoRaces(driver()));

// All properties together must have run both kinds of collectives. A single property may run one
// kind only.
class BothKindsOfCollectives final : public ::testing::Environment {
 public:
  void TearDown() override {
    const ::testing::UnitTest& run = *::testing::UnitTest::GetInstance();
    if (run.test_to_run_count() < run.total_test_count()) return;
    EXPECT_TRUE(factory().saw_local_collectives()) << "no replicas shared a GPU";
    EXPECT_TRUE(factory().saw_nccl_collectives()) << "NCCL was never called";
  }
};

[[maybe_unused]] ::testing::Environment* const kBothKinds =
    ::testing::AddGlobalTestEnvironment(new BothKindsOfCollectives);
#endif

}  // namespace

const BackendFactory& backend_factory() { return factory(); }

}  // namespace belfry::testing
