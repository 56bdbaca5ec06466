// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "slow_fill.h"

#include <cstddef>

namespace belfry::cuda::test {
namespace {

constexpr long long kCycles = 30'000'000;  // 20 ms at 1.5 GHz

__global__ void slow_fill(float* x, float value, std::size_t count) {
  const long long start = clock64();
  while (clock64() - start < kCycles) {
  }
  for (std::size_t i = threadIdx.x; i < count; i += blockDim.x) x[i] = value;
}

}  // namespace

void SlowFill::on_cuda(cudaStream_t stream, std::span<float> x) const {
  slow_fill<<<1, 128, 0, stream>>>(x.data(), value, x.size());
}

}  // namespace belfry::cuda::test
