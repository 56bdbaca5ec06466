// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "dispatch.cuh"
#include "families.h"

namespace belfry::cuda::kernels {
namespace {

template <class To, class From>
__device__ void cast_all(To* out, const void* in, std::size_t count) {
  const auto* from = static_cast<const From*>(in);
  for (std::size_t i = place_in_grid(); i < count; i += threads_in_grid()) {
    out[i] = element::cast<To>(from[i]);
  }
}

template <class To, class... Froms>
__device__ void cast_from(TypeList<Froms...>, DType dtype, To* out, const void* in,
                          std::size_t count) {
  ((element::dtype_in_memory<Froms>() == dtype ? cast_all<To, Froms>(out, in, count) : void()),
   ...);
}

template <class To>
__global__ void cast(To* out, const void* in, DType from, std::size_t count) {
  cast_from(AllTypes{}, from, out, in, count);
}

}  // namespace

void launch_cast(const KernelCall& call, cudaStream_t stream) {
  const KernelOperand& out = call.outputs[0];
  const KernelOperand& in = call.inputs[0];
  if (out.count == 0) return;
  visit_type(AllTypes{}, out.dtype, [&](auto tag) {
    using To = typename decltype(tag)::Type;
    cast<<<blocks_for(out.count), kThreads, 0, stream>>>(elements_of<To>(out), in.data, in.dtype,
                                                         out.count);
  });
}

}  // namespace belfry::cuda::kernels
