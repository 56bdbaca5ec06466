// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <span>

namespace belfry::cuda::test {

/// Starts a kernel that fails: this process has lost its current GPU from then on.
void lose_the_gpu();

/// A user's kernel that fails on the GPU.
struct Traps {
  void on_cuda(cudaStream_t stream, std::span<float> x) const;
};

}  // namespace belfry::cuda::test
