// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "dispatch.cuh"
#include "families.h"

namespace belfry::cuda::kernels {
namespace {

template <class T>
__global__ void fill(T* out, std::size_t count, T value) {
  for (std::size_t i = place_in_grid(); i < count; i += threads_in_grid()) out[i] = value;
}

}  // namespace

void launch_fill(const KernelCall& call, cudaStream_t stream) {
  const KernelOperand& out = call.outputs[0];
  if (out.count == 0) return;
  visit_type(AllTypes{}, out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T value =
        element::scalar_element<T>(call.parameters.scalar, call.parameters.integer_scalar);
    fill<<<blocks_for(out.count), kThreads, 0, stream>>>(elements_of<T>(out), out.count, value);
  });
}

}  // namespace belfry::cuda::kernels
