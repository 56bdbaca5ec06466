// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/tensor.h"

#include <concepts>
#include <type_traits>

/// Operands of the operators of tensors. An operator has no parameter for a call site, and the
/// conversion of an operand to one of these types has: the line of the expression.
namespace belfry::detail {

/// A tensor and the line of the expression.
template <Element T>
struct TensorOperand {
  /// The conversion of an operand. The tensor outlives the expression.
  TensorOperand(const Tensor<T>& operand, CallSite call = CallSite::here())  // NOLINT
      : tensor(operand), site(call) {}

  const Tensor<T>& tensor;  ///< The operand.
  CallSite site;            ///< The line of the expression.
};

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

}  // namespace belfry::detail
