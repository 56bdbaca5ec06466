// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

namespace belfry {

namespace detail {

template <class R, class T>
concept Prepares = requires(const R& reduction, const T& value) { reduction.prepare(value); };

/// What a reduction folds: what `prepare` makes of a replica's value, or the value.
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

template <class R, class P>
concept Folds = requires(const R& reduction, P folded, const P& next, int replicas) {
  { reduction.combine(std::move(folded), next) } -> std::convertible_to<P>;
  reduction.finalize(std::move(folded), replicas);
};

}  // namespace detail

/// How values of replicas become one, as a value that users can define; `ReduceOp` names the two
/// that backends reduce natively. The values are folded by replica id on replica 0's device,
/// ((x0 + x1) + x2) + ..., where `combine(folded, next)` is the +; then `finalize(folded,
/// replicas)` makes the result (SEM-38). `prepare(value)`, where there is one, comes before: a
/// reduction may fold another type than it is given. `replicas` is the number of those that take
/// part (SEM-91). What any of these throws comes out of the verb that reduces.
template <class R, class T>
concept Reduction = detail::Folds<R, detail::Prepared<R, T>>;

/// What a reduction of a T gives.
template <class R, class T>
  requires Reduction<R, T>
using ReductionResult = std::remove_cvref_t<decltype(std::declval<const R&>().finalize(
    std::declval<detail::Prepared<R, T>>(), 1))>;

/// A reduction that a replica-local variable can be read by: it gives what the components are. It
/// may also say what is saved, `on_save(T value)`, and what becomes of that when it is restored,
/// `on_restore(T value, int component, int components)`; without them the value itself is saved,
/// and every component gets it.
template <class R, class T>
concept VariableReduction = Reduction<R, T> && std::same_as<ReductionResult<R, T>, T>;

}  // namespace belfry
