// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <span>

namespace belfry::cuda::test {

/// A user's kernel with both bodies: y += scale * x.
struct ScaleAndAdd {
  float scale = 1;
  unsigned threads = 128;  ///< In a block of a GPU, which has 1024 at most.

  void on_host(std::span<float> y, std::span<const float> x) const {
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += scale * x[i];
  }
  /// In scale_and_add.cu.
  void on_cuda(cudaStream_t stream, std::span<float> y, std::span<const float> x) const;
};

}  // namespace belfry::cuda::test
