// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The suites on the CUDA backend's host half, over the simulated driver.
#include "belfry/sim/driver.h"
#include "cuda_factory.h"

namespace belfry::testing {
namespace {

sim::SimulatedDriver& driver() {
  static sim::SimulatedDriver machine;
  return machine;
}

}  // namespace

const BackendFactory& backend_factory() {
  static const CudaFactory factory("cuda on the simulated driver",
                                   [](std::uint64_t seed) { driver().reseed(seed); });
  return factory;
}

}  // namespace belfry::testing
