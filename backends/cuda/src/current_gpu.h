// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check.h"

#include <cuda_runtime.h>

namespace belfry::cuda {

/// Makes a GPU current on this thread. The destructor restores the previous GPU, as CUDA code of
/// the user expects.
class CurrentGpu {
 public:
  explicit CurrentGpu(int gpu) : gpu_(gpu) {
    BELFRY_CUDA_TRY(cudaGetDevice(&previous_));
    if (previous_ != gpu_) BELFRY_CUDA_TRY(cudaSetDevice(gpu_));
  }
  CurrentGpu(const CurrentGpu&) = delete;
  CurrentGpu& operator=(const CurrentGpu&) = delete;
  ~CurrentGpu() {
    if (previous_ != gpu_) ignore_failure(cudaSetDevice(previous_));
  }

 private:
  int gpu_;
  int previous_ = 0;
};

}  // namespace belfry::cuda
