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

template <class R, class P>
concept Folds = requires(const R& reduction, P folded, const P& next, int replicas) {
  { reduction.combine(std::move(folded), next) } -> std::convertible_to<P>;
  reduction.finalize(std::move(folded), replicas);
};

}  // namespace detail

/// A user-defined reduction of the replicas' values; `ReduceOp` names the two reductions that
/// backends have natively. The values are folded on replica 0's device, by replica id: ((x0 + x1) +
/// x2) + ..., with `combine(folded, next)` as the +. Then `finalize(folded, replicas)` makes the
/// result, with the number of participating replicas (SEM-38, SEM-91). An optional `prepare(value)`
/// is called first for each value; its type may differ from the value's type. Exceptions of the
/// three functions leave the verb that reduces.
template <class R, class T>
concept Reduction = detail::Folds<R, detail::Prepared<R, T>>;

/// The result type of a reduction of T.
template <class R, class T>
  requires Reduction<R, T>
using ReductionResult = std::remove_cvref_t<decltype(std::declval<const R&>().finalize(
    std::declval<detail::Prepared<R, T>>(), 1))>;

/// A reduction for reading a replica-local variable: the result has the type of the components. Two
/// optional functions change checkpoints: `on_save(T value)` returns the value to save, and
/// `on_restore(T value, int component, int components)` returns a component's value at a restore.
/// Without them the value itself is saved, and every component gets the saved value.
template <class R, class T>
concept VariableReduction = Reduction<R, T> && std::same_as<ReductionResult<R, T>, T>;

}  // namespace belfry
