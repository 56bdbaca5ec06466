// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "momentum.h"

// [on_cuda]
__global__ void momentum_step(Momentum step, float* weight, float* velocity, const float* gradient,
                              std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  velocity[i] = step.decay * velocity[i] + gradient[i];
  weight[i] -= step.rate * velocity[i];
}

void Momentum::on_cuda(cudaStream_t stream, std::span<float> weight, std::span<float> velocity,
                       std::span<const float> gradient) const {
  constexpr unsigned kThreads = 256;
  const auto blocks = static_cast<unsigned>((weight.size() + kThreads - 1) / kThreads);
  momentum_step<<<blocks, kThreads, 0, stream>>>(*this, weight.data(), velocity.data(),
                                                 gradient.data(), weight.size());
}
// [on_cuda]
