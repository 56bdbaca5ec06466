// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/element_ops.h"
#include "dispatch.cuh"
#include "families.h"

#include <cstdint>
#include <limits>

namespace belfry::cuda::kernels {
namespace {

struct Rows {
  std::size_t count;  // Of the table.
  std::size_t columns;

  template <class Index>
  __device__ bool has(Index row) const {
    return row >= 0 && static_cast<std::uint64_t>(row) < count;
  }
};

// An index outside the table gathers zeros.
template <class Word, class Index>
__global__ void gather(Word* out, const Index* index, const Word* table, Rows rows,
                       std::size_t count) {
  for (std::size_t i = place_in_grid(); i < count; i += threads_in_grid()) {
    const Index row = index[i / rows.columns];
    out[i] = rows.has(row) ? table[static_cast<std::size_t>(row) * rows.columns + i % rows.columns]
                           : Word{0};
  }
}

// Whether an index in [first, last) is `row`. All threads of a block search together.
template <class Index>
__device__ bool is_among(Index row, const Index* index, std::size_t first, std::size_t last) {
  bool found = false;
  for (std::size_t i = first + threadIdx.x; i < last; i += blockDim.x) found |= index[i] == row;
  return __syncthreads_or(found ? 1 : 0) != 0;
}

template <class C>
__device__ C meet(ScatterOp op, C table, C x) {
  switch (op) {
    case ScatterOp::kAdd:
      return element::apply<ScatterOp::kAdd>(table, x);
    case ScatterOp::kSubtract:
      return element::apply<ScatterOp::kSubtract>(table, x);
    case ScatterOp::kMultiply:
      return element::apply<ScatterOp::kMultiply>(table, x);
    case ScatterOp::kDivide:
      return element::apply<ScatterOp::kDivide>(table, x);
    case ScatterOp::kMinimum:
      return element::apply<ScatterOp::kMinimum>(table, x);
    case ScatterOp::kMaximum:
      return element::apply<ScatterOp::kMaximum>(table, x);
    case ScatterOp::kSet:
      return element::apply<ScatterOp::kSet>(table, x);
  }
  return table;
}

// A block for each index. The block of the first of equal indices takes the rows of all of them, in
// ascending order: the result does not depend on the order of blocks, and 16-bit floats are rounded
// once.
template <class T, class Index>
__global__ void scatter(ScatterOp op, T* out, const Index* index, const T* in, Rows rows,
                        std::size_t indices) {
  const std::size_t mine = blockIdx.x;
  const Index row = index[mine];
  if (!rows.has(row) || is_among(row, index, 0, mine)) return;
  for (std::size_t c = threadIdx.x; c < rows.columns; c += blockDim.x) {
    T* to = out + static_cast<std::size_t>(row) * rows.columns + c;
    auto value = element::load(*to);
    for (std::size_t i = mine; i < indices; ++i) {
      if (index[i] != row) continue;
      value = meet(op, value, element::load(in[i * rows.columns + c]));
    }
    *to = element::store<T>(value);
  }
}

// The block of the last of equal indices copies its row.
template <class Word, class Index>
__global__ void replace(Word* out, const Index* index, const Word* in, Rows rows,
                        std::size_t indices) {
  const std::size_t mine = blockIdx.x;
  const Index row = index[mine];
  if (!rows.has(row) || is_among(row, index, mine + 1, indices)) return;
  Word* to = out + static_cast<std::size_t>(row) * rows.columns;
  const Word* from = in + mine * rows.columns;
  for (std::size_t c = threadIdx.x; c < rows.columns; c += blockDim.x) to[c] = from[c];
}

Rows rows_of(const KernelOperand& table, const KernelParameters& parameters) {
  const auto columns = static_cast<std::size_t>(parameters.columns);
  return {table.count / columns, columns};
}

// Calls `function` with the Tag of an unsigned integer as large as an element.
template <class Function>
void visit_word(DType dtype, Function&& function) {
  switch (size_of(dtype)) {
    case 1:
      return function(Tag<std::uint8_t>{});
    case 2:
      return function(Tag<std::uint16_t>{});
    case 4:
      return function(Tag<std::uint32_t>{});
    default:
      return function(Tag<std::uint64_t>{});
  }
}

}  // namespace

void launch_gather_rows(const KernelCall& call, cudaStream_t stream) {
  const KernelOperand& out = call.outputs[0];
  if (out.count == 0) return;
  visit_word(out.dtype, [&](auto tag) {
    using Word = typename decltype(tag)::Type;
    visit_type(IndexTypes{}, call.inputs[0].dtype, [&](auto index) {
      using Index = typename decltype(index)::Type;
      gather<<<blocks_for(out.count), kThreads, 0, stream>>>(
          elements_of<Word>(out), elements_of<const Index>(call.inputs[0]),
          elements_of<const Word>(call.inputs[1]), rows_of(call.inputs[1], call.parameters),
          out.count);
    });
  });
}

void launch_scatter_rows(const KernelCall& call, cudaStream_t stream) {
  const KernelOperand& out = call.outputs[0];
  const std::size_t indices = call.inputs[0].count;
  if (out.count == 0 || indices == 0) return;
  const auto blocks = static_cast<unsigned>(indices);
  const Rows rows = rows_of(out, call.parameters);
  const ScatterOp op = call.parameters.scatter;
  visit_type(IndexTypes{}, call.inputs[0].dtype, [&](auto tag) {
    using Index = typename decltype(tag)::Type;
    const auto* index = elements_of<const Index>(call.inputs[0]);
    if (op == ScatterOp::kSet) {
      visit_word(out.dtype, [&](auto word) {
        using Word = typename decltype(word)::Type;
        replace<<<blocks, kThreads, 0, stream>>>(
            elements_of<Word>(out), index, elements_of<const Word>(call.inputs[1]), rows, indices);
      });
      return;
    }
    visit_type(NumericTypes{}, out.dtype, [&](auto type) {
      using T = typename decltype(type)::Type;
      scatter<<<blocks, kThreads, 0, stream>>>(op, elements_of<T>(out), index,
                                               elements_of<const T>(call.inputs[1]), rows, indices);
    });
  });
}

}  // namespace belfry::cuda::kernels
