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

// A block for each index: that of the first of equal ones adds the rows of all of them, ascending,
// so that nothing depends on which block runs when, and 16-bit sums are rounded once.
template <class T, class Index>
__global__ void scatter_add(T* out, const Index* index, const T* in, Rows rows,
                            std::size_t indices) {
  const std::size_t mine = blockIdx.x;
  const Index row = index[mine];
  if (!rows.has(row)) return;
  bool earlier = false;
  for (std::size_t i = threadIdx.x; i < mine; i += blockDim.x) earlier |= index[i] == row;
  if (__syncthreads_or(earlier ? 1 : 0) != 0) return;
  for (std::size_t c = threadIdx.x; c < rows.columns; c += blockDim.x) {
    T* to = out + static_cast<std::size_t>(row) * rows.columns + c;
    auto sum = element::load(*to);
    for (std::size_t i = mine; i < indices; ++i) {
      if (index[i] != row) continue;
      sum = element::apply<BinaryOp::kAdd>(sum, element::load(in[i * rows.columns + c]));
    }
    *to = element::store<T>(sum);
  }
}

Rows rows_of(const KernelOperand& table, const KernelParameters& parameters) {
  const auto columns = static_cast<std::size_t>(parameters.columns);
  return {table.count / columns, columns};
}

template <class Word>
void gather_words(const KernelCall& call, cudaStream_t stream) {
  const KernelOperand& out = call.outputs[0];
  visit_type(IndexTypes{}, call.inputs[0].dtype, [&](auto tag) {
    using Index = typename decltype(tag)::Type;
    gather<<<blocks_for(out.count), kThreads, 0, stream>>>(
        elements_of<Word>(out), elements_of<const Index>(call.inputs[0]),
        elements_of<const Word>(call.inputs[1]), rows_of(call.inputs[1], call.parameters),
        out.count);
  });
}

}  // namespace

void launch_gather_rows(const KernelCall& call, cudaStream_t stream) {
  if (call.outputs[0].count == 0) return;
  switch (size_of(call.outputs[0].dtype)) {
    case 1:
      return gather_words<std::uint8_t>(call, stream);
    case 2:
      return gather_words<std::uint16_t>(call, stream);
    case 4:
      return gather_words<std::uint32_t>(call, stream);
    default:
      return gather_words<std::uint64_t>(call, stream);
  }
}

void launch_scatter_add_rows(const KernelCall& call, cudaStream_t stream) {
  const std::size_t indices = call.inputs[0].count;
  if (call.outputs[0].count == 0 || indices == 0) return;
  visit_type(NumericTypes{}, call.outputs[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    visit_type(IndexTypes{}, call.inputs[0].dtype, [&](auto index) {
      using Index = typename decltype(index)::Type;
      scatter_add<<<static_cast<unsigned>(indices), kThreads, 0, stream>>>(
          elements_of<T>(call.outputs[0]), elements_of<const Index>(call.inputs[0]),
          elements_of<const T>(call.inputs[1]), rows_of(call.outputs[0], call.parameters), indices);
    });
  });
}

}  // namespace belfry::cuda::kernels
