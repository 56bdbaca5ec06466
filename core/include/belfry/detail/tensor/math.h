// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/tensor_launch.h"
#include "belfry/tensor.h"

/// Element by element functions of one tensor; the result has the same shape.
///
/// Order: enqueued on the compute stream of the tensor's device; the host does not block.
/// Throws: InvalidArgumentError (kDType) for tensors of bool, (kInvalidArgument) for a
/// default-constructed tensor; DeviceError (kOutOfMemory). On the simulator the results have the
/// same bits on every machine.
namespace belfry {

/// Element types of exp, log and similar functions.
template <class T>
concept FloatingElement = Element<T> && is_floating(dtype_of<T>());

/// -x; integers wrap modulo 2^w.
template <Element T>
Tensor<T> negate(const Tensor<T>& x, CallSite site = CallSite::here()) {
  return Tensor<T>(detail::launch_unary(UnaryOp::kNegate, x.any(), {}, "negate", site));
}
/// negate(x) without a call site: an operator with a single operand, whose type names T, has no
/// conversion that could take the line.
template <Element T>
Tensor<T> operator-(const Tensor<T>& x) {
  return negate(x, CallSite{});
}

/// The magnitude of each element.
template <Element T>
Tensor<T> abs(const Tensor<T>& x, CallSite site = CallSite::here()) {
  return Tensor<T>(detail::launch_unary(UnaryOp::kAbs, x.any(), {}, "abs", site));
}

/// x * x.
template <Element T>
Tensor<T> square(const Tensor<T>& x, CallSite site = CallSite::here()) {
  return Tensor<T>(detail::launch_unary(UnaryOp::kSquare, x.any(), {}, "square", site));
}

/// x if x > 0, else 0; NaN stays NaN.
template <Element T>
Tensor<T> relu(const Tensor<T>& x, CallSite site = CallSite::here()) {
  return Tensor<T>(detail::launch_unary(UnaryOp::kRelu, x.any(), {}, "relu", site));
}

/// 1 if x > 0, else 0: the slope of `relu`.
template <Element T>
Tensor<T> step(const Tensor<T>& x, CallSite site = CallSite::here()) {
  return Tensor<T>(detail::launch_unary(UnaryOp::kStep, x.any(), {}, "step", site));
}

/// The square root; NaN for negative elements.
template <FloatingElement T>
Tensor<T> sqrt(const Tensor<T>& x, CallSite site = CallSite::here()) {
  return Tensor<T>(detail::launch_unary(UnaryOp::kSqrt, x.any(), {}, "sqrt", site));
}

/// 1 / x.
template <FloatingElement T>
Tensor<T> reciprocal(const Tensor<T>& x, CallSite site = CallSite::here()) {
  return Tensor<T>(detail::launch_unary(UnaryOp::kReciprocal, x.any(), {}, "reciprocal", site));
}

/// e to the power of each element.
template <FloatingElement T>
Tensor<T> exp(const Tensor<T>& x, CallSite site = CallSite::here()) {
  return Tensor<T>(detail::launch_unary(UnaryOp::kExp, x.any(), {}, "exp", site));
}

/// The natural logarithm; minus infinity for 0, NaN for negative elements.
template <FloatingElement T>
Tensor<T> log(const Tensor<T>& x, CallSite site = CallSite::here()) {
  return Tensor<T>(detail::launch_unary(UnaryOp::kLog, x.any(), {}, "log", site));
}

/// The hyperbolic tangent.
template <FloatingElement T>
Tensor<T> tanh(const Tensor<T>& x, CallSite site = CallSite::here()) {
  return Tensor<T>(detail::launch_unary(UnaryOp::kTanh, x.any(), {}, "tanh", site));
}

/// x with elements of type U. To integers: rounded towards zero, saturating. To bool: whether x is
/// not 0. To narrower floats: rounded to nearest even. Any element type.
template <Element U, Element T>
Tensor<U> cast(const Tensor<T>& x, CallSite site = CallSite::here()) {
  return Tensor<U>(detail::launch_cast(x.any(), dtype_of<U>(), site));
}

}  // namespace belfry
