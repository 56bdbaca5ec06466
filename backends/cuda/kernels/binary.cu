// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/element_ops.h"
#include "dispatch.cuh"
#include "families.h"

namespace belfry::cuda::kernels {
namespace {

// Maps element i of the left operand to its element of the right operand.
struct RightIndex {
  Broadcast broadcast;
  std::size_t columns;

  __device__ std::size_t operator()(std::size_t i) const {
    switch (broadcast) {
      case Broadcast::kScalar:
        return 0;
      case Broadcast::kRow:
        return i % columns;
      case Broadcast::kColumn:
        return i / columns;
      case Broadcast::kNone:
        break;
    }
    return i;
  }
};

template <class T>
struct Operands {
  const T* left;
  const T* right;
  std::size_t count;
  RightIndex right_index;
};

template <class C>
__device__ C apply_binary(BinaryOp op, C left, C right) {
  if (op == BinaryOp::kMinimum) return element::apply<BinaryOp::kMinimum>(left, right);
  if constexpr (!std::is_same_v<C, bool>) {
    switch (op) {
      case BinaryOp::kAdd:
        return element::apply<BinaryOp::kAdd>(left, right);
      case BinaryOp::kSubtract:
        return element::apply<BinaryOp::kSubtract>(left, right);
      case BinaryOp::kMultiply:
        return element::apply<BinaryOp::kMultiply>(left, right);
      case BinaryOp::kDivide:
        return element::apply<BinaryOp::kDivide>(left, right);
      default:
        break;
    }
  }
  return element::apply<BinaryOp::kMaximum>(left, right);
}

template <class C>
__device__ bool apply_compare(CompareOp op, C left, C right) {
  switch (op) {
    case CompareOp::kEqual:
      return element::apply<CompareOp::kEqual>(left, right);
    case CompareOp::kNotEqual:
      return element::apply<CompareOp::kNotEqual>(left, right);
    case CompareOp::kLess:
      return element::apply<CompareOp::kLess>(left, right);
    case CompareOp::kLessEqual:
      return element::apply<CompareOp::kLessEqual>(left, right);
    case CompareOp::kGreater:
      return element::apply<CompareOp::kGreater>(left, right);
    case CompareOp::kGreaterEqual:
      break;
  }
  return element::apply<CompareOp::kGreaterEqual>(left, right);
}

template <class T>
__global__ void binary(T* out, Operands<T> in, BinaryOp op) {
  for (std::size_t i = place_in_grid(); i < in.count; i += threads_in_grid()) {
    out[i] = element::store<T>(
        apply_binary(op, element::load(in.left[i]), element::load(in.right[in.right_index(i)])));
  }
}

template <class T>
__global__ void compare(element::BoolByte* out, Operands<T> in, CompareOp op) {
  for (std::size_t i = place_in_grid(); i < in.count; i += threads_in_grid()) {
    out[i] = element::store<element::BoolByte>(
        apply_compare(op, element::load(in.left[i]), element::load(in.right[in.right_index(i)])));
  }
}

template <class T>
Operands<T> operands_of(const KernelCall& call) {
  return {elements_of<const T>(call.inputs[0]),
          elements_of<const T>(call.inputs[1]),
          call.outputs[0].count,
          {call.parameters.broadcast, static_cast<std::size_t>(call.parameters.columns)}};
}

}  // namespace

void launch_binary(const KernelCall& call, cudaStream_t stream) {
  const KernelOperand& out = call.outputs[0];
  if (out.count == 0) return;
  visit_type(AllTypes{}, out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    binary<<<blocks_for(out.count), kThreads, 0, stream>>>(
        elements_of<T>(out), operands_of<T>(call), call.parameters.binary);
  });
}

void launch_compare(const KernelCall& call, cudaStream_t stream) {
  const KernelOperand& out = call.outputs[0];
  if (out.count == 0) return;
  visit_type(AllTypes{}, call.inputs[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    compare<<<blocks_for(out.count), kThreads, 0, stream>>>(
        elements_of<element::BoolByte>(out), operands_of<T>(call), call.parameters.compare);
  });
}

}  // namespace belfry::cuda::kernels
