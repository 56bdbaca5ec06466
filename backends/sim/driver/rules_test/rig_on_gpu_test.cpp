// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "calls_test.h"
#include "rig.h"

#include <semaphore>

namespace belfry::driver::test {

struct Rig::Parts {
  std::binary_semaphore gate{0};
  bool held = false;
};

Rig::Rig() : parts_(std::make_unique<Parts>()) {}

// Without the release, a test that fails while holding a stream would leave CUDA waiting for ever.
Rig::~Rig() {
  release();
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

void Rig::hold(cudaStream_t stream) {
  parts_->held = true;
  const auto wait = [](void* gate) { static_cast<std::binary_semaphore*>(gate)->acquire(); };
  EXPECT_EQ(cudaLaunchHostFunc(stream, wait, &parts_->gate), cudaSuccess);
}

void Rig::release() {
  if (parts_->held) parts_->gate.release();
  parts_->held = false;
}

}  // namespace belfry::driver::test
