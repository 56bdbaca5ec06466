// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/assign.h"
#include "belfry/detail/divided_once.h"
#include "belfry/nest.h"
#include "belfry/tensor_arithmetic.h"
#include "belfry/tensor_math.h"

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry {

/// The reduction that divides the SUM of integers by the number of replicas, towards zero
/// (SEM-39): `replica.all_reduce(TruncatedMean{}, value)`. The sum wraps as SEM-35 says. Leaves
/// that are floating-point numbers are divided truly. Adding throws InvalidArgumentError (kDType)
/// for bool, and for tensors of types without arithmetic.
struct TruncatedMean {
  template <Nest T>
  T combine(T folded, T next) const {
    detail::combine_leaves(detail::AssignOp::kAdd, leaves_of(folded), leaves_of(next));
    return folded;
  }
  template <Nest T>
  T finalize(T sum, int replicas) const {
    for_each_leaf(sum, [replicas](auto& leaf) { leaf = divided(leaf, replicas); });
    return sum;
  }

 private:
  template <Element E>
  static E divided(E value, int replicas) {
    if constexpr (std::is_same_v<E, std::uint64_t>) {
      return value / static_cast<std::uint64_t>(replicas);
    } else if constexpr (std::is_integral_v<E>) {
      return static_cast<E>(static_cast<std::int64_t>(value) / replicas);
    } else {
      return detail::divided_once(value, replicas);
    }
  }
  template <Element E>
  static std::vector<E> divided(std::vector<E> values, int replicas) {
    for (E& value : values) value = divided(value, replicas);
    return values;
  }
  template <Element E>
  static Tensor<E> divided(const Tensor<E>& tensor, int replicas) {
    // So many replicas may be more than a small type holds.
    if constexpr (std::is_integral_v<E> && sizeof(E) < 4) {
      return cast<E>(divide(cast<std::int32_t>(tensor), replicas));
    } else {
      return Tensor<E>(detail::divided_once(tensor.any(), replicas, "divide", {}));
    }
  }
};

/// The reduction that gives the MEAN of integers as doubles (SEM-39): of a number, a vector of
/// numbers or a tensor. The values become doubles before they are added.
struct PromotedMean {
  template <Element E>
  double prepare(E value) const {
    return static_cast<double>(value);
  }
  template <Element E>
  std::vector<double> prepare(const std::vector<E>& values) const {
    return {values.begin(), values.end()};
  }
  template <Element E>
  Tensor<double> prepare(const Tensor<E>& tensor) const {
    return cast<double>(tensor);
  }
  template <Nest P>
  P combine(P folded, P next) const {
    detail::combine_leaves(detail::AssignOp::kAdd, leaves_of(folded), leaves_of(next));
    return folded;
  }
  double finalize(double sum, int replicas) const { return sum / replicas; }
  std::vector<double> finalize(std::vector<double> sums, int replicas) const {
    for (double& sum : sums) sum /= replicas;
    return sums;
  }
  Tensor<double> finalize(const Tensor<double>& sum, int replicas) const {
    return divide(sum, static_cast<double>(replicas));
  }
};

}  // namespace belfry
