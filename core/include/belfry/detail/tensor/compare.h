// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/tensor/arithmetic.h"
#include "belfry/detail/tensor_launch.h"
#include "belfry/tensor.h"

#include <string_view>

/// Element by element comparisons, into tensors of bool, and selection by a condition. The right
/// operand may be a row, a column or a single element, as in `belfry/detail/tensor/arithmetic.h`.
/// Comparisons with NaN are false, except `not_equal`, which is true.
///
/// Order: enqueued on the compute stream of the operands' device; the host does not block.
/// Throws: InvalidArgumentError with kShape, kDType, kForeignObject, or kInvalidArgument for a
/// default-constructed tensor; DeviceError (kOutOfMemory).
namespace belfry {

namespace detail {
template <class T>
Tensor<bool> compare(CompareOp op, const Tensor<T>& left, const Operand<T>& right,
                     std::string_view what, CallSite site) {
  return Tensor<bool>(right.tensor == nullptr
                          ? launch_compare(op, left.any(), right.number, what, site)
                          : launch_compare(op, left.any(), right.tensor->any(), what, site));
}
}  // namespace detail

/// left == right.
template <Element T>
Tensor<bool> equal(const Tensor<T>& left, detail::RightOperand<T> right,
                   CallSite site = CallSite::here()) {
  return detail::compare(CompareOp::kEqual, left, right, "equal", site);
}

/// left != right.
template <Element T>
Tensor<bool> not_equal(const Tensor<T>& left, detail::RightOperand<T> right,
                       CallSite site = CallSite::here()) {
  return detail::compare(CompareOp::kNotEqual, left, right, "not_equal", site);
}

/// left < right.
template <Element T>
Tensor<bool> less(const Tensor<T>& left, detail::RightOperand<T> right,
                  CallSite site = CallSite::here()) {
  return detail::compare(CompareOp::kLess, left, right, "less", site);
}

/// left <= right.
template <Element T>
Tensor<bool> less_equal(const Tensor<T>& left, detail::RightOperand<T> right,
                        CallSite site = CallSite::here()) {
  return detail::compare(CompareOp::kLessEqual, left, right, "less_equal", site);
}

/// left > right.
template <Element T>
Tensor<bool> greater(const Tensor<T>& left, detail::RightOperand<T> right,
                     CallSite site = CallSite::here()) {
  return detail::compare(CompareOp::kGreater, left, right, "greater", site);
}

/// left >= right.
template <Element T>
Tensor<bool> greater_equal(const Tensor<T>& left, detail::RightOperand<T> right,
                           CallSite site = CallSite::here()) {
  return detail::compare(CompareOp::kGreaterEqual, left, right, "greater_equal", site);
}

/// `left` where `condition` is true, else `right`. All three have the same shape.
template <Element T>
Tensor<T> select(const Tensor<bool>& condition, const Tensor<T>& left, const Tensor<T>& right,
                 CallSite site = CallSite::here()) {
  return Tensor<T>(detail::launch_select(condition.any(), left.any(), right.any(), site));
}

}  // namespace belfry
