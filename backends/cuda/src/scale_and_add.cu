// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "scale_and_add.h"

namespace belfry::cuda::test {
namespace {

__global__ void scale_and_add(float* y, const float* x, float scale, std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) y[i] += scale * x[i];
}

}  // namespace

void ScaleAndAdd::on_cuda(cudaStream_t stream, std::span<float> y, std::span<const float> x) const {
  const auto blocks = static_cast<unsigned>((y.size() + threads - 1) / threads);
  scale_and_add<<<blocks, threads, 0, stream>>>(y.data(), x.data(), scale, y.size());
}

}  // namespace belfry::cuda::test
