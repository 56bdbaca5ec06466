// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <memory>

namespace belfry::driver::test {

/// The test rig of the rules: a GPU of the simulated driver, or the first GPU of this machine,
/// depending on the linked source file.
class Rig {
 public:
  Rig();
  ~Rig();
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;

  /// Delays later work of a stream until `release`. Once for each Rig.
  void hold(cudaStream_t stream);
  void release();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace belfry::driver::test
