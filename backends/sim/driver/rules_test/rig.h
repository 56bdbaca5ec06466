// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <memory>

namespace belfry::driver::test {

/// What the rules are tried on: one GPU of the simulated driver, or the first of this machine.
/// Which of them it is, the program was linked with.
class Rig {
 public:
  Rig();
  ~Rig();
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;

  /// Keeps what is put on a stream after this from being done, until `release`. Once in a rig.
  void hold(cudaStream_t stream);
  void release();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace belfry::driver::test
