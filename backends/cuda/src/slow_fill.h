// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <span>

namespace belfry::cuda::test {

/// A user's kernel: waits for some 20 ms on the GPU, then x = value.
struct SlowFill {
  float value = 0;

  void on_cuda(cudaStream_t stream, std::span<float> x) const;
};

}  // namespace belfry::cuda::test
