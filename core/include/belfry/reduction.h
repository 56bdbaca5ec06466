// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/integer_sums.h"
#include "belfry/detail/reductions/reduce_op.h"
#include "belfry/detail/refused.h"
#include "belfry/detail/tensor_launch.h"
#include "belfry/nest.h"

#include <concepts>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry {

namespace detail {

template <class R, class T>
concept Prepares = requires(const R& reduction, const T& value) { reduction.prepare(value); };

/// The value to fold: the result of `prepare` if the reduction has the function, else the replica's
/// value.
template <class R, class T>
decltype(auto) prepared(const R& reduction, const T& value) {
  if constexpr (Prepares<R, T>) {
    return reduction.prepare(value);
  } else {
    return (value);
  }
}
template <class R, class T>
using Prepared =
    std::remove_cvref_t<decltype(prepared(std::declval<const R&>(), std::declval<const T&>()))>;

/// Whether values of other lengths may be folded.
template <class R>
constexpr bool lengths_may_differ() {
  if constexpr (requires { R::kLengthsMayDiffer; }) {
    return R::kLengthsMayDiffer;
  } else {
    return false;
  }
}

template <class R, class P>
concept Folds = requires(const R& reduction, P folded, const P& next, int replicas) {
  { reduction.combine(std::move(folded), next) } -> std::convertible_to<P>;
  reduction.finalize(std::move(folded), replicas);
};

}  // namespace detail

/// A reduction that a program defines, for all_reduce and reduce. `ReduceOp` names those that
/// backends have natively.
///
///     struct Largest {
///       double combine(double folded, double next) const { return std::max(folded, next); }
///       double finalize(double folded, int) const { return folded; }
///     };
///     const double largest = replica.all_reduce(Largest{}, x);
///
/// The values are folded on replica 0's device, by replica id: ((x0 + x1) + x2) + ..., with
/// `combine(folded, next)` as the +. Then `finalize(folded, replicas)` makes the result, with the
/// number of participating replicas (SEM-38, SEM-91). An optional `prepare(value)` is called first
/// for each value; its type may differ from the value's type. Exceptions of the three functions
/// leave the verb that reduces. All values have one structure and equal lengths, unless the
/// reduction has `static constexpr bool kLengthsMayDiffer = true`.
template <class R, class T>
concept Reduction = detail::Folds<R, detail::Prepared<R, T>>;

namespace detail {

/// A first argument of a reduction of T that is neither a ReduceOp nor a reduction of the user's.
template <class R, class T>
concept NoReduction = !Reduction<R, T> && !std::is_convertible_v<R, ReduceOp>;

/// Refuses such a reduction.
template <class R, class T>
constexpr Refused refuse_reduction() {
  constexpr bool kReduces = Reduction<R, T>;  // Of a concept, compilers print each condition.
  static_assert(
      kReduces,
      "values of T are reduced by a ReduceOp or an object: write a class with T combine(T "
      "folded, const T& next) const and T finalize(T folded, int replicas) const; "
      "TruncatedMean and PromotedMean take nests");
  return {};
}

}  // namespace detail

/// The result type of a reduction of T.
template <class R, class T>
  requires Reduction<R, T>
using ReductionResult = std::remove_cvref_t<decltype(std::declval<const R&>().finalize(
    std::declval<detail::Prepared<R, T>>(), 1))>;

/// A reduction for reading a replica-local variable: the result has the type of the components. Two
/// optional functions change checkpoints: `on_save(T value)` returns the value to save, and
/// `on_restore(T value, int component, int components)` returns a component's value at a restore.
/// Without them the value itself is saved, and every component gets the saved value. A restore
/// refuses lengths that differ from the components' lengths, unless the reduction has `on_restore`
/// or kLengthsMayDiffer.
template <class R, class T>
concept VariableReduction = Reduction<R, T> && std::same_as<ReductionResult<R, T>, T>;

/// The mean of integers as integers, divided towards zero: `replica.all_reduce(TruncatedMean{},
/// value)` (SEM-39). The sum does not wrap: integers of up to 32 bits are added up in 64 bits,
/// 64-bit integers in 128 bits, on the host and on devices (SEM-141). Leaves of floating-point
/// numbers are divided truly.
/// Throws: InvalidArgumentError (kDType) for bool and for types with ElementTraits.
struct TruncatedMean {
  /// The sums begin as the value, with wide integers.
  template <Nest T>
  detail::TruncatedSum<T> prepare(const T& value) const {
    return detail::TruncatedSum<T>(value);
  }
  /// Adds leaf by leaf.
  template <Nest T>
  detail::TruncatedSum<T> combine(detail::TruncatedSum<T> folded,
                                  detail::TruncatedSum<T> next) const {
    folded.integers.add(next.integers);
    detail::add_floating_leaves(leaves_of(folded.value), leaves_of(next.value));
    return folded;
  }
  /// Divides leaf by leaf; the type of the value again.
  template <Nest T>
  T finalize(detail::TruncatedSum<T> sum, int replicas) const {
    sum.integers.divide_into(leaves_of(sum.value), replicas);
    for_each_leaf(sum.value, [replicas](auto& leaf) { divide_truly(leaf, replicas); });
    return std::move(sum.value);
  }

 private:
  // Divides floating-point leaves; integer leaves are unchanged.
  template <Element E>
  static void divide_truly(E& value, int replicas) {
    if constexpr (!std::is_integral_v<E>) value = detail::divided_once(value, replicas);
  }
  // Types with ElementTraits are refused by IntegerSums.
  template <UserElement E>
  static void divide_truly(E& /*value*/, int /*replicas*/) {}
  template <Element E>
  static void divide_truly(std::vector<E>& values, int replicas) {
    for (E& value : values) divide_truly(value, replicas);
  }
  template <Element E>
  static void divide_truly(Tensor<E>& tensor, int replicas) {
    if constexpr (!std::is_integral_v<E>) {
      tensor = Tensor<E>(detail::divided_once(tensor.any(), replicas, "divide", {}));
    }
  }
};

/// The mean of integers as doubles, of a number, a vector of numbers or a tensor (SEM-39). The
/// values become doubles before the addition, and no sum wraps. Up to 2^53 in magnitude only the
/// division rounds; above, every conversion, every addition and the division round to the nearest
/// double.
struct PromotedMean {
  /// The value as double; a vector or a tensor of doubles.
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
    return Tensor<double>(detail::launch_cast(tensor.any(), DType::kFloat64, {}));
  }
  /// Adds leaf by leaf.
  template <Nest P>
  P combine(P folded, P next) const {
    detail::combine_leaves(detail::AssignOp::kAdd, leaves_of(folded), leaves_of(next));
    return folded;
  }
  /// Divides by the number of replicas.
  double finalize(double sum, int replicas) const { return sum / replicas; }
  std::vector<double> finalize(std::vector<double> sums, int replicas) const {
    for (double& sum : sums) sum /= replicas;
    return sums;
  }
  Tensor<double> finalize(const Tensor<double>& sum, int replicas) const {
    return Tensor<double>(detail::divided_once(sum.any(), replicas, "divide", {}));
  }
};

}  // namespace belfry
