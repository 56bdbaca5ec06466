// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/element_ops.h"
#include "dispatch.cuh"
#include "families.h"

#include <algorithm>
#include <cstdint>

namespace belfry::cuda::kernels {
namespace {

/// A factor as stored: element (i, j) is at i * row_step + j * column_step.
template <class T>
struct Factor {
  const T* elements;
  std::size_t row_step;
  std::size_t column_step;

  __device__ Accumulator<T> at(std::size_t row, std::size_t column) const {
    return static_cast<Accumulator<T>>(elements[row * row_step + column * column_step]);
  }
};

struct Extent {
  std::size_t rows;
  std::size_t columns;
  std::size_t inner;
};

constexpr int kTile = 16;
constexpr std::size_t kMostTileRows = 65535;  // The limit of a grid in y.

// A thread for each element, a left fold over ascending inner; blocks share tiles of both factors.
// A block takes every gridDim.y-th row of tiles: all its threads take the same rows, because of the
// barriers.
template <class T>
__global__ void matmul(T* out, Factor<T> left, Factor<T> right, Extent extent) {
  using A = Accumulator<T>;
  __shared__ A lefts[kTile][kTile + 1];
  __shared__ A rights[kTile][kTile + 1];
  const std::size_t column = std::size_t{blockIdx.x} * kTile + threadIdx.x;
  const std::size_t tile_rows = (extent.rows + kTile - 1) / kTile;
  for (std::size_t tile_row = blockIdx.y; tile_row < tile_rows; tile_row += gridDim.y) {
    const std::size_t row = tile_row * kTile + threadIdx.y;
    A sum = 0;
    for (std::size_t first = 0; first < extent.inner; first += kTile) {
      const std::size_t k_left = first + threadIdx.x;
      const std::size_t k_right = first + threadIdx.y;
      const bool in_left = row < extent.rows && k_left < extent.inner;
      const bool in_right = column < extent.columns && k_right < extent.inner;
      lefts[threadIdx.y][threadIdx.x] = in_left ? left.at(row, k_left) : A(0);
      rights[threadIdx.y][threadIdx.x] = in_right ? right.at(k_right, column) : A(0);
      __syncthreads();
      const std::size_t depth = extent.inner - first < kTile ? extent.inner - first : kTile;
      for (std::size_t k = 0; k < depth; ++k) sum += lefts[threadIdx.y][k] * rights[k][threadIdx.x];
      __syncthreads();
    }
    if (row >= extent.rows || column >= extent.columns) continue;
    if constexpr (element::kIsFloating<T>) sum = element::canonical(sum);
    out[row * extent.columns + column] = static_cast<T>(sum);
  }
}

}  // namespace

void launch_matmul(const KernelCall& call, cudaStream_t stream) {
  const KernelParameters& parameters = call.parameters;
  const Extent extent{static_cast<std::size_t>(parameters.rows),
                      static_cast<std::size_t>(parameters.columns),
                      static_cast<std::size_t>(parameters.inner)};
  if (extent.rows == 0 || extent.columns == 0) return;
  const dim3 blocks(
      static_cast<unsigned>((extent.columns + kTile - 1) / kTile),
      static_cast<unsigned>(std::min((extent.rows + kTile - 1) / kTile, kMostTileRows)));
  // Sums of products have the same bits whether integers are signed or not.
  const DType dtype = element::unsigned_of(call.outputs[0].dtype);
  visit_type(UnsignedOrFloatingTypes{}, dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const bool tl = parameters.transpose_left;
    const bool tr = parameters.transpose_right;
    const Factor<T> left{elements_of<const T>(call.inputs[0]), tl ? 1 : extent.inner,
                         tl ? extent.rows : 1};
    const Factor<T> right{elements_of<const T>(call.inputs[1]), tr ? 1 : extent.columns,
                          tr ? extent.inner : 1};
    matmul<<<blocks, dim3(kTile, kTile), 0, stream>>>(elements_of<T>(call.outputs[0]), left, right,
                                                      extent);
  });
}

}  // namespace belfry::cuda::kernels
