// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/tensor/operands.h"
#include "belfry/detail/tensor_launch.h"
#include "belfry/tensor.h"

#include <type_traits>

/// Element by element arithmetic on tensors.
///
/// The result has the shape of the left operand. The right operand may be smaller. For a left
/// operand of shape [r, c] the right operand has shape [r, c]; [c] or [1, c], a row for every row;
/// [r, 1], a column for every column; or a single element for all elements.
///
/// Order: enqueued on the compute stream of the operands' device; the host does not block.
/// Throws: InvalidArgumentError with kShape for shapes that do not fit, kDType for tensors of bool,
/// which have `minimum` and `maximum` alone, kForeignObject for operands on different devices,
/// kInvalidArgument for a default-constructed tensor; DeviceError
/// (kOutOfMemory).
///
/// Integers wrap modulo 2^w; 16-bit floats compute in float and round once an operation.
namespace belfry {

/// left + right.
template <Element T>
Tensor<T> add(const Tensor<T>& left, const Tensor<T>& right, CallSite site = CallSite::here()) {
  return Tensor<T>(detail::launch_binary(BinaryOp::kAdd, left.any(), right.any(), "add", site));
}
template <Element T>
Tensor<T> add(const Tensor<T>& left, std::type_identity_t<T> right,
              CallSite site = CallSite::here()) {
  return Tensor<T>(
      detail::launch_binary(BinaryOp::kAdd, left.any(), detail::Scalar::of(right), "add", site));
}

/// left - right.
template <Element T>
Tensor<T> subtract(const Tensor<T>& left, const Tensor<T>& right,
                   CallSite site = CallSite::here()) {
  return Tensor<T>(
      detail::launch_binary(BinaryOp::kSubtract, left.any(), right.any(), "subtract", site));
}
template <Element T>
Tensor<T> subtract(const Tensor<T>& left, std::type_identity_t<T> right,
                   CallSite site = CallSite::here()) {
  return Tensor<T>(detail::launch_binary(BinaryOp::kSubtract, left.any(), detail::Scalar::of(right),
                                         "subtract", site));
}
template <Element T>
Tensor<T> subtract(std::type_identity_t<T> left, const Tensor<T>& right,
                   CallSite site = CallSite::here()) {
  return Tensor<T>(detail::launch_binary(BinaryOp::kSubtract, detail::Scalar::of(left), right.any(),
                                         "subtract", site));
}

/// left * right, element by element; `matmul` is the product of matrices.
template <Element T>
Tensor<T> multiply(const Tensor<T>& left, const Tensor<T>& right,
                   CallSite site = CallSite::here()) {
  return Tensor<T>(
      detail::launch_binary(BinaryOp::kMultiply, left.any(), right.any(), "multiply", site));
}
template <Element T>
Tensor<T> multiply(const Tensor<T>& left, std::type_identity_t<T> right,
                   CallSite site = CallSite::here()) {
  return Tensor<T>(detail::launch_binary(BinaryOp::kMultiply, left.any(), detail::Scalar::of(right),
                                         "multiply", site));
}

/// left / right. Floats: one true division an element. Integers: rounded towards zero; division by
/// 0 gives 0.
template <Element T>
Tensor<T> divide(const Tensor<T>& left, const Tensor<T>& right, CallSite site = CallSite::here()) {
  return Tensor<T>(
      detail::launch_binary(BinaryOp::kDivide, left.any(), right.any(), "divide", site));
}
template <Element T>
Tensor<T> divide(const Tensor<T>& left, std::type_identity_t<T> right,
                 CallSite site = CallSite::here()) {
  return Tensor<T>(detail::launch_binary(BinaryOp::kDivide, left.any(), detail::Scalar::of(right),
                                         "divide", site));
}
template <Element T>
Tensor<T> divide(std::type_identity_t<T> left, const Tensor<T>& right,
                 CallSite site = CallSite::here()) {
  return Tensor<T>(detail::launch_binary(BinaryOp::kDivide, detail::Scalar::of(left), right.any(),
                                         "divide", site));
}

/// The smaller element of each pair; NaN if either is NaN. For bool: and.
template <Element T>
Tensor<T> minimum(const Tensor<T>& left, const Tensor<T>& right, CallSite site = CallSite::here()) {
  return Tensor<T>(
      detail::launch_binary(BinaryOp::kMinimum, left.any(), right.any(), "minimum", site));
}
template <Element T>
Tensor<T> minimum(const Tensor<T>& left, std::type_identity_t<T> right,
                  CallSite site = CallSite::here()) {
  return Tensor<T>(detail::launch_binary(BinaryOp::kMinimum, left.any(), detail::Scalar::of(right),
                                         "minimum", site));
}

/// The larger element of each pair; NaN if either is NaN. For bool: or.
template <Element T>
Tensor<T> maximum(const Tensor<T>& left, const Tensor<T>& right, CallSite site = CallSite::here()) {
  return Tensor<T>(
      detail::launch_binary(BinaryOp::kMaximum, left.any(), right.any(), "maximum", site));
}
template <Element T>
Tensor<T> maximum(const Tensor<T>& left, std::type_identity_t<T> right,
                  CallSite site = CallSite::here()) {
  return Tensor<T>(detail::launch_binary(BinaryOp::kMaximum, left.any(), detail::Scalar::of(right),
                                         "maximum", site));
}

/// add(left, right) with the line of the expression as its call site.
template <Element T>
Tensor<T> operator+(const Tensor<T>& left, detail::TensorOperand<std::type_identity_t<T>> right) {
  return add(left, right.tensor, right.site);
}
template <Element T>
Tensor<T> operator+(const Tensor<T>& left, detail::NumberOperand<std::type_identity_t<T>> right) {
  return add(left, right.number, right.site);
}
template <Element T>
Tensor<T> operator+(detail::NumberOperand<std::type_identity_t<T>> left, const Tensor<T>& right) {
  return add(right, left.number, left.site);
}
/// subtract(left, right), likewise.
template <Element T>
Tensor<T> operator-(const Tensor<T>& left, detail::TensorOperand<std::type_identity_t<T>> right) {
  return subtract(left, right.tensor, right.site);
}
template <Element T>
Tensor<T> operator-(const Tensor<T>& left, detail::NumberOperand<std::type_identity_t<T>> right) {
  return subtract(left, right.number, right.site);
}
template <Element T>
Tensor<T> operator-(detail::NumberOperand<std::type_identity_t<T>> left, const Tensor<T>& right) {
  return subtract<T>(left.number, right, left.site);
}
/// multiply(left, right), likewise.
template <Element T>
Tensor<T> operator*(const Tensor<T>& left, detail::TensorOperand<std::type_identity_t<T>> right) {
  return multiply(left, right.tensor, right.site);
}
template <Element T>
Tensor<T> operator*(const Tensor<T>& left, detail::NumberOperand<std::type_identity_t<T>> right) {
  return multiply(left, right.number, right.site);
}
template <Element T>
Tensor<T> operator*(detail::NumberOperand<std::type_identity_t<T>> left, const Tensor<T>& right) {
  return multiply(right, left.number, left.site);
}
/// divide(left, right), likewise.
template <Element T>
Tensor<T> operator/(const Tensor<T>& left, detail::TensorOperand<std::type_identity_t<T>> right) {
  return divide(left, right.tensor, right.site);
}
template <Element T>
Tensor<T> operator/(const Tensor<T>& left, detail::NumberOperand<std::type_identity_t<T>> right) {
  return divide(left, right.number, right.site);
}
template <Element T>
Tensor<T> operator/(detail::NumberOperand<std::type_identity_t<T>> left, const Tensor<T>& right) {
  return divide<T>(left.number, right, left.site);
}

}  // namespace belfry
