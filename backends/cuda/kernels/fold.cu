// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/element_ops.h"
#include "dispatch.cuh"
#include "families.h"

// A single thread folds each output, in ascending order, for any shape of the launch: the order of
// the host.
namespace belfry::cuda::kernels {
namespace {

template <class C>
__device__ C fold_step(FoldOp op, C folded, C x) {
  if constexpr (!std::is_same_v<C, bool>) {
    if (op == FoldOp::kSum) return element::apply<FoldOp::kSum>(folded, x);
    if (op == FoldOp::kProduct) return element::apply<FoldOp::kProduct>(folded, x);
  }
  return op == FoldOp::kMaximum ? element::apply<FoldOp::kMaximum>(folded, x)
                                : element::apply<FoldOp::kMinimum>(folded, x);
}

template <class C>
__device__ C fold_nothing(FoldOp op) {
  if (op == FoldOp::kSum) return element::fold_of_nothing<FoldOp::kSum, C>();
  if (op == FoldOp::kProduct) return element::fold_of_nothing<FoldOp::kProduct, C>();
  return op == FoldOp::kMaximum ? element::fold_of_nothing<FoldOp::kMaximum, C>()
                                : element::fold_of_nothing<FoldOp::kMinimum, C>();
}

template <class T>
__global__ void fold_columns(T* out, const T* in, std::size_t rows, std::size_t columns,
                             FoldOp op) {
  for (std::size_t c = place_in_grid(); c < columns; c += threads_in_grid()) {
    element::Compute<T> folded = fold_nothing<element::Compute<T>>(op);
    if (rows > 0) folded = element::load(in[c]);
    for (std::size_t r = 1; r < rows; ++r) {
      folded = fold_step(op, folded, element::load(in[r * columns + c]));
    }
    out[c] = element::store<T>(element::finish_fold(folded));
  }
}

constexpr int kTile = 32;  // A warp: rows folded by a block, and columns read at a time.
constexpr int kReaders = 8;

// A block reads tiles of kTile x kTile along rows, for coalesced access, and its first warp folds
// each row of the tile.
template <class T>
__global__ void fold_rows(T* out, const T* in, std::size_t rows, std::size_t columns, FoldOp op) {
  __shared__ element::Compute<T> tile[kTile][kTile + 1];  // One more: rows in different banks.
  const std::size_t first_row = std::size_t{blockIdx.x} * kTile;
  const std::size_t my_row = first_row + threadIdx.x;
  element::Compute<T> folded = fold_nothing<element::Compute<T>>(op);
  for (std::size_t first = 0; first < columns; first += kTile) {
    const std::size_t column = first + threadIdx.x;
    for (int r = static_cast<int>(threadIdx.y); r < kTile; r += kReaders) {
      if (first_row + r < rows && column < columns) {
        tile[r][threadIdx.x] = element::load(in[(first_row + r) * columns + column]);
      }
    }
    __syncthreads();
    if (threadIdx.y == 0 && my_row < rows) {
      const std::size_t width = columns - first < kTile ? columns - first : kTile;
      for (std::size_t c = 0; c < width; ++c) {
        const auto x = tile[threadIdx.x][c];
        folded = first + c == 0 ? x : fold_step(op, folded, x);
      }
    }
    __syncthreads();
  }
  if (threadIdx.y == 0 && my_row < rows) {
    out[my_row] = element::store<T>(element::finish_fold(folded));
  }
}

}  // namespace

void launch_row_reduce(const KernelCall& call, cudaStream_t stream) {
  const auto rows = static_cast<std::size_t>(call.parameters.rows);
  const auto columns = static_cast<std::size_t>(call.parameters.columns);
  if (rows == 0) return;
  const auto blocks = static_cast<unsigned>((rows + kTile - 1) / kTile);
  visit_type(AllTypes{}, call.outputs[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    fold_rows<<<blocks, dim3(kTile, kReaders), 0, stream>>>(elements_of<T>(call.outputs[0]),
                                                            elements_of<const T>(call.inputs[0]),
                                                            rows, columns, call.parameters.fold);
  });
}

void launch_column_reduce(const KernelCall& call, cudaStream_t stream) {
  const auto rows = static_cast<std::size_t>(call.parameters.rows);
  const auto columns = static_cast<std::size_t>(call.parameters.columns);
  if (columns == 0) return;
  visit_type(AllTypes{}, call.outputs[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    fold_columns<<<blocks_for(columns), kThreads, 0, stream>>>(elements_of<T>(call.outputs[0]),
                                                               elements_of<const T>(call.inputs[0]),
                                                               rows, columns, call.parameters.fold);
  });
}

}  // namespace belfry::cuda::kernels
