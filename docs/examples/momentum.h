// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// A kernel with a body for the host and a body for GPUs: docs/kernels.md.
#pragma once

#include <belfry/shape.h>

#include <cstddef>
#include <span>

#ifdef WITH_CUDA
#include <cuda_runtime.h>
#endif

// [momentum]
/// velocity = decay * velocity + gradient, then weight -= rate * velocity: in one pass over memory.
struct Momentum {
  float rate;
  float decay;

  bool check(const belfry::Shape& weight, const belfry::Shape& velocity,
             const belfry::Shape& gradient) const {
    return weight == velocity && weight == gradient;
  }
  void on_host(std::span<float> weight, std::span<float> velocity,
               std::span<const float> gradient) const {
    for (std::size_t i = 0; i < weight.size(); ++i) {
      velocity[i] = decay * velocity[i] + gradient[i];
      weight[i] -= rate * velocity[i];
    }
  }
#ifdef WITH_CUDA
  void on_cuda(cudaStream_t stream, std::span<float> weight, std::span<float> velocity,
               std::span<const float> gradient) const;  // in momentum.cu
#endif
};
// [momentum]
