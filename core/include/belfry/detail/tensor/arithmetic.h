// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/tensor_launch.h"
#include "belfry/tensor.h"

#include <concepts>
#include <string_view>
#include <type_traits>

/// Operands of the functions and operators of tensors. An operator has no parameter for a call
/// site, and the conversion of an operand to one of these types has: the line of the expression.
namespace belfry::detail {

/// A number and the line of the expression.
template <Element T>
struct NumberOperand {
  /// The conversion of a number.
  NumberOperand(T operand, CallSite call = CallSite::here())  // NOLINT
      : number(operand), site(call) {}
  /// Of a class that converts to T, as Float16 to float: a second conversion in one argument.
  template <class Number>
    requires(std::is_class_v<Number> && std::convertible_to<const Number&, T>)
  NumberOperand(const Number& operand, CallSite call = CallSite::here())  // NOLINT
      : number(operand), site(call) {}

  T number;       ///< The operand.
  CallSite site;  ///< The line of the expression.
};

/// A tensor or a number, and the line of the expression.
template <Element T>
struct Operand {
  /// The conversion of a tensor, which outlives the expression.
  Operand(const Tensor<T>& operand, CallSite call = CallSite::here())  // NOLINT
      : tensor(&operand), site(call) {}
  /// The conversion of a number, as of NumberOperand.
  template <class Number>
    requires(std::convertible_to<const Number&, T>)
  Operand(const Number& operand, CallSite call = CallSite::here())  // NOLINT
      : number(Scalar::of(static_cast<T>(operand))), site(call) {}

  const Tensor<T>* tensor = nullptr;  ///< The tensor; null for a number.
  Scalar number{};                    ///< The number, without a tensor.
  CallSite site;                      ///< The line of the expression.
};

/// The operand behind a tensor, whose element type is the type of the operand.
template <class T>
using RightOperand = const Operand<std::type_identity_t<T>>&;

template <class T>
Tensor<T> binary(BinaryOp op, const Tensor<T>& left, const Operand<T>& right, std::string_view what,
                 CallSite site) {
  return Tensor<T>(right.tensor == nullptr
                       ? launch_binary(op, left.any(), right.number, what, site)
                       : launch_binary(op, left.any(), right.tensor->any(), what, site));
}

}  // namespace belfry::detail

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
Tensor<T> add(const Tensor<T>& left, detail::RightOperand<T> right,
              CallSite site = CallSite::here()) {
  return detail::binary(BinaryOp::kAdd, left, right, "add", site);
}

/// left - right.
template <Element T>
Tensor<T> subtract(const Tensor<T>& left, detail::RightOperand<T> right,
                   CallSite site = CallSite::here()) {
  return detail::binary(BinaryOp::kSubtract, left, right, "subtract", site);
}
template <Element T>
Tensor<T> subtract(std::type_identity_t<T> left, const Tensor<T>& right,
                   CallSite site = CallSite::here()) {
  return Tensor<T>(detail::launch_binary(BinaryOp::kSubtract, detail::Scalar::of(left), right.any(),
                                         "subtract", site));
}

/// left * right, element by element; `matmul` is the product of matrices.
template <Element T>
Tensor<T> multiply(const Tensor<T>& left, detail::RightOperand<T> right,
                   CallSite site = CallSite::here()) {
  return detail::binary(BinaryOp::kMultiply, left, right, "multiply", site);
}

/// left / right. Floats: one true division an element. Integers: rounded towards zero; division by
/// 0 gives 0.
template <Element T>
Tensor<T> divide(const Tensor<T>& left, detail::RightOperand<T> right,
                 CallSite site = CallSite::here()) {
  return detail::binary(BinaryOp::kDivide, left, right, "divide", site);
}
template <Element T>
Tensor<T> divide(std::type_identity_t<T> left, const Tensor<T>& right,
                 CallSite site = CallSite::here()) {
  return Tensor<T>(detail::launch_binary(BinaryOp::kDivide, detail::Scalar::of(left), right.any(),
                                         "divide", site));
}

/// The smaller element of each pair; NaN if either is NaN. For bool: and.
template <Element T>
Tensor<T> minimum(const Tensor<T>& left, detail::RightOperand<T> right,
                  CallSite site = CallSite::here()) {
  return detail::binary(BinaryOp::kMinimum, left, right, "minimum", site);
}

/// The larger element of each pair; NaN if either is NaN. For bool: or.
template <Element T>
Tensor<T> maximum(const Tensor<T>& left, detail::RightOperand<T> right,
                  CallSite site = CallSite::here()) {
  return detail::binary(BinaryOp::kMaximum, left, right, "maximum", site);
}

/// add(left, right) with the line of the expression as its call site.
template <Element T>
Tensor<T> operator+(const Tensor<T>& left, detail::RightOperand<T> right) {
  return add(left, right, right.site);
}
template <Element T>
Tensor<T> operator+(detail::NumberOperand<std::type_identity_t<T>> left, const Tensor<T>& right) {
  return add(right, left.number, left.site);
}
/// subtract(left, right), likewise.
template <Element T>
Tensor<T> operator-(const Tensor<T>& left, detail::RightOperand<T> right) {
  return subtract(left, right, right.site);
}
template <Element T>
Tensor<T> operator-(detail::NumberOperand<std::type_identity_t<T>> left, const Tensor<T>& right) {
  return subtract<T>(left.number, right, left.site);
}
/// multiply(left, right), likewise.
template <Element T>
Tensor<T> operator*(const Tensor<T>& left, detail::RightOperand<T> right) {
  return multiply(left, right, right.site);
}
template <Element T>
Tensor<T> operator*(detail::NumberOperand<std::type_identity_t<T>> left, const Tensor<T>& right) {
  return multiply(right, left.number, left.site);
}
/// divide(left, right), likewise.
template <Element T>
Tensor<T> operator/(const Tensor<T>& left, detail::RightOperand<T> right) {
  return divide(left, right, right.site);
}
template <Element T>
Tensor<T> operator/(detail::NumberOperand<std::type_identity_t<T>> left, const Tensor<T>& right) {
  return divide<T>(left.number, right, left.site);
}

}  // namespace belfry
