// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/element_ops.h"
#include "belfry/backend/element_types.h"
#include "belfry/backend/kernel.h"

#include <cstddef>

/// The rules of kFusedUpdate on one element, shared by host and GPU kernels.
namespace belfry::element {

/// The numbers of a rule in the type of computations, each rounded once.
template <class T>
struct UpdateFactors {
  Compute<T> rate;               ///< KernelParameters::scalar.
  Compute<T> decay;              ///< The same.
  Compute<T> complement;         ///< 1 - decay.
  Compute<T> second_decay;       ///< The same.
  Compute<T> second_complement;  ///< 1 - second_decay.
  Compute<T> epsilon;            ///< The same.

  /// The numbers of `parameters`.
  static constexpr UpdateFactors of(const KernelParameters& parameters) {
    const auto rounded = [](double value) { return scalar_operand<T>(value, 0); };
    return {rounded(parameters.scalar),           rounded(parameters.decay),
            rounded(1 - parameters.decay),        rounded(parameters.second_decay),
            rounded(1 - parameters.second_decay), rounded(parameters.epsilon)};
  }
};

namespace detail {
template <BinaryOp op, class T>
BELFRY_HOST_DEVICE constexpr T rounded(T left, T right) {
  return store<T>(apply<op>(load(left), load(right)));
}
template <UnaryOp op, class T>
BELFRY_HOST_DEVICE constexpr T rounded(T x, Compute<T> scalar = {}) {
  return store<T>(apply<op>(load(x), scalar));
}
/// decay x + y.
template <class T>
BELFRY_HOST_DEVICE constexpr T decayed_sum(Compute<T> decay, T x, T y) {
  return rounded<BinaryOp::kAdd>(rounded<UnaryOp::kScale>(x, decay), y);
}
}  // namespace detail

/// A step of the rule: changes a weight and its slots. `slots` has an unused element for a rule
/// without slots.
template <UpdateRule rule, class T, std::size_t count>
BELFRY_HOST_DEVICE constexpr void update(const UpdateFactors<T>& factors, T& weight,
                                         T (&slots)[count], T gradient) {
  T step = gradient;
  if constexpr (rule == UpdateRule::kMomentum) {
    step = slots[0] = detail::decayed_sum(factors.decay, slots[0], gradient);
  } else if constexpr (rule == UpdateRule::kAdam) {
    const T part = detail::rounded<UnaryOp::kScale>(gradient, factors.complement);
    const T square = detail::rounded<UnaryOp::kSquare>(gradient);
    const T second = detail::rounded<UnaryOp::kScale>(square, factors.second_complement);
    slots[0] = detail::decayed_sum(factors.decay, slots[0], part);
    slots[1] = detail::decayed_sum(factors.second_decay, slots[1], second);
    const T root = detail::rounded<UnaryOp::kSqrt>(slots[1]);
    step = detail::rounded<BinaryOp::kDivide>(
        slots[0], detail::rounded<UnaryOp::kShift>(root, factors.epsilon));
  }
  weight = detail::rounded<BinaryOp::kSubtract>(
      weight, detail::rounded<UnaryOp::kScale>(step, factors.rate));
}

}  // namespace belfry::element
