// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/sim/driver.h"
#include "calls_test.h"
#include "rig.h"

namespace belfry::driver::test {

struct Rig::Parts {
  sim::SimulatedDriver machine{{.gpus = 1, .memory_bytes = 1 << 20}};
  std::vector<int> one{1};
};

Rig::Rig() : parts_(std::make_unique<Parts>()) {}
Rig::~Rig() = default;

// No work runs before the host waits. A question takes a step: the work below takes more than a
// single step.
void Rig::hold(cudaStream_t stream) {
  int* const scratch = allocate(make_pool(), stream, 1);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(write(scratch, parts_->one, stream), cudaSuccess);
}

void Rig::release() {}

}  // namespace belfry::driver::test
