// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/tensor_launch.h"
#include "belfry/tensor.h"

#include <type_traits>

/// Updates in place, for optimizers. Storage of `x` alone is written directly; shared storage is
/// copied first, and other tensors keep their values. Operands fit as in
/// `belfry/detail/tensor/arithmetic.h`.
///
/// Order: enqueued on the compute stream of the operands' device; the host does not block.
/// Throws: InvalidArgumentError with kShape, kDType, kForeignObject, or kInvalidArgument for a
/// default-constructed tensor; DeviceError (kOutOfMemory). After an InvalidArgumentError `x` is
/// unchanged.
namespace belfry {

/// x += y.
template <Element T>
void add_to(Tensor<T>& x, const Tensor<T>& y, CallSite site = CallSite::here()) {
  detail::update_binary(BinaryOp::kAdd, x.any(), y.any(), "add_to", site);
}

/// x -= y.
template <Element T>
void subtract_from(Tensor<T>& x, const Tensor<T>& y, CallSite site = CallSite::here()) {
  detail::update_binary(BinaryOp::kSubtract, x.any(), y.any(), "subtract_from", site);
}

/// x *= factor.
template <Element T>
void scale(Tensor<T>& x, std::type_identity_t<T> factor, CallSite site = CallSite::here()) {
  detail::update_unary(UnaryOp::kScale, x.any(), detail::Scalar::of(factor), "scale", site);
}

/// x += factor * y: the product is rounded, then the sum.
template <Element T>
void add_scaled(Tensor<T>& x, std::type_identity_t<T> factor, const Tensor<T>& y,
                CallSite site = CallSite::here()) {
  detail::update_scaled(BinaryOp::kAdd, x.any(), detail::Scalar::of(factor), y.any(), "add_scaled",
                        site);
}

/// x -= factor * y: the product is rounded, then the difference. A step of gradient descent.
template <Element T>
void subtract_scaled(Tensor<T>& x, std::type_identity_t<T> factor, const Tensor<T>& y,
                     CallSite site = CallSite::here()) {
  detail::update_scaled(BinaryOp::kSubtract, x.any(), detail::Scalar::of(factor), y.any(),
                        "subtract_scaled", site);
}

}  // namespace belfry
