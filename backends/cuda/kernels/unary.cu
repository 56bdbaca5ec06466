// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/element_ops.h"
#include "dispatch.cuh"
#include "families.h"

namespace belfry::cuda::kernels {
namespace {

template <class C>
__device__ C apply_unary(UnaryOp op, C x, C scalar) {
  switch (op) {
    case UnaryOp::kNegate:
      return element::apply<UnaryOp::kNegate>(x, scalar);
    case UnaryOp::kAbs:
      return element::apply<UnaryOp::kAbs>(x, scalar);
    case UnaryOp::kSquare:
      return element::apply<UnaryOp::kSquare>(x, scalar);
    case UnaryOp::kSqrt:
      return element::apply<UnaryOp::kSqrt>(x, scalar);
    case UnaryOp::kReciprocal:
      return element::apply<UnaryOp::kReciprocal>(x, scalar);
    case UnaryOp::kExp:
      return element::apply<UnaryOp::kExp>(x, scalar);
    case UnaryOp::kLog:
      return element::apply<UnaryOp::kLog>(x, scalar);
    case UnaryOp::kTanh:
      return element::apply<UnaryOp::kTanh>(x, scalar);
    case UnaryOp::kRelu:
      return element::apply<UnaryOp::kRelu>(x, scalar);
    case UnaryOp::kStep:
      return element::apply<UnaryOp::kStep>(x, scalar);
    case UnaryOp::kScale:
      return element::apply<UnaryOp::kScale>(x, scalar);
    case UnaryOp::kShift:
      return element::apply<UnaryOp::kShift>(x, scalar);
  }
  return x;
}

template <class T>
__global__ void unary(T* out, const T* in, std::size_t count, UnaryOp op,
                      element::Compute<T> scalar) {
  for (std::size_t i = place_in_grid(); i < count; i += threads_in_grid()) {
    out[i] = element::store<T>(apply_unary(op, element::load(in[i]), scalar));
  }
}

}  // namespace

void launch_unary(const KernelCall& call, cudaStream_t stream) {
  const KernelOperand& out = call.outputs[0];
  if (out.count == 0) return;
  visit_type(NumericTypes{}, out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const auto scalar =
        element::scalar_operand<T>(call.parameters.scalar, call.parameters.integer_scalar);
    unary<<<blocks_for(out.count), kThreads, 0, stream>>>(elements_of<T>(out),
                                                          elements_of<const T>(call.inputs[0]),
                                                          out.count, call.parameters.unary, scalar);
  });
}

}  // namespace belfry::cuda::kernels
