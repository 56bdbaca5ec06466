// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "dispatch.cuh"
#include "families.h"

#include <cstdint>

namespace belfry::cuda::kernels {
namespace {

// Elements are copied as bits: only the size of the type matters.
template <class Word>
__global__ void select(Word* out, const std::uint8_t* condition, const Word* left,
                       const Word* right, std::size_t count) {
  for (std::size_t i = place_in_grid(); i < count; i += threads_in_grid()) {
    out[i] = condition[i] != 0 ? left[i] : right[i];
  }
}

template <class Word>
void launch_words(const KernelCall& call, cudaStream_t stream) {
  const KernelOperand& out = call.outputs[0];
  select<<<blocks_for(out.count), kThreads, 0, stream>>>(
      elements_of<Word>(out), elements_of<const std::uint8_t>(call.inputs[0]),
      elements_of<const Word>(call.inputs[1]), elements_of<const Word>(call.inputs[2]), out.count);
}

}  // namespace

void launch_select(const KernelCall& call, cudaStream_t stream) {
  if (call.outputs[0].count == 0) return;
  switch (size_of(call.outputs[0].dtype)) {
    case 1:
      return launch_words<std::uint8_t>(call, stream);
    case 2:
      return launch_words<std::uint16_t>(call, stream);
    case 4:
      return launch_words<std::uint32_t>(call, stream);
    default:
      return launch_words<std::uint64_t>(call, stream);
  }
}

}  // namespace belfry::cuda::kernels
