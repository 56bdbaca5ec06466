// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "suites/kernels/user_kernels.h"

namespace belfry::testing::user_kernels {
namespace {

constexpr unsigned kThreads = 64;

unsigned blocks(std::size_t count) {
  return static_cast<unsigned>((count + kThreads - 1) / kThreads);
}

__device__ std::size_t index() { return std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; }

__global__ void add_scaled(std::int32_t* y, const std::int32_t* x, std::int32_t scale,
                           std::size_t count) {
  const std::size_t i = index();
  if (i < count) y[i] = sum(y[i], product(scale, x[i]));
}

__global__ void reverse(std::int32_t* z, const std::int32_t* copy, std::size_t count) {
  const std::size_t i = index();
  if (i < count) z[i] = copy[count - 1 - i];
}

__global__ void exchange(std::int32_t* y, std::int32_t* x, std::int32_t number, std::size_t count) {
  const std::size_t i = index();
  if (i >= count) return;
  const std::int32_t before = y[i];
  y[i] = sum(x[i], number);
  x[i] = before;
}

__global__ void combine(std::int32_t* z, const std::int32_t* y, const std::int32_t* x,
                        std::size_t count) {
  const std::size_t i = index();
  if (i < count) z[i] = sum(product(3, y[i]), x[i]);
}

}  // namespace

void AddScaled::on_cuda(cudaStream_t stream, std::span<std::int32_t> y,
                        std::span<const std::int32_t> x) const {
  add_scaled<<<blocks(y.size()), kThreads, 0, stream>>>(y.data(), x.data(), scale, y.size());
}

void Reverse::on_cuda(cudaStream_t stream, std::span<std::int32_t> z, std::span<std::byte> memory,
                      std::span<const std::int32_t> x) const {
  auto* const copy = reinterpret_cast<std::int32_t*>(memory.data());
  cudaMemcpyAsync(copy, x.data(), x.size_bytes(), cudaMemcpyDeviceToDevice, stream);
  reverse<<<blocks(z.size()), kThreads, 0, stream>>>(z.data(), copy, z.size());
}

void Exchange::on_cuda(cudaStream_t stream, std::span<std::int32_t> y,
                       std::span<std::int32_t> x) const {
  exchange<<<blocks(y.size()), kThreads, 0, stream>>>(y.data(), x.data(), number, y.size());
}

void Combine::on_cuda(cudaStream_t stream, std::span<const std::int32_t> y,
                      std::span<const std::int32_t> x, std::span<std::int32_t> z) const {
  combine<<<blocks(z.size()), kThreads, 0, stream>>>(z.data(), y.data(), x.data(), z.size());
}

}  // namespace belfry::testing::user_kernels
