// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/compiler.h"
#include "belfry/detail/component.h"
#include "belfry/detail/function_call.h"
#include "belfry/detail/nest_traits.h"
#include "belfry/distributed_values.h"

#include <type_traits>
#include <utility>
#include <vector>

/// Tests of users' functions. A verb tests its function first, and gives the caller of a wrong
/// function a Refused: the compiler reports the message of the test and nothing more.
namespace belfry {

class CrossReplicaContext;
class ReplicaContext;
class Strategy;

namespace detail {

/// Whether values of a type can be copied. Looks at the elements of standard containers: the traits
/// of a std::vector say yes for elements of any type.
template <class T>
constexpr bool is_copied() {
  if constexpr (!std::is_copy_constructible_v<T>) {
    return false;
  } else if constexpr (is_rebuilt<T>()) {
    return all_elements<T>([]<class E>() { return is_copied<E>(); });
  } else {
    return true;
  }
}

/// The call of the function of fetch, which gets a component.
template <class F, class T>
using FetchFunctionCall = FunctionCall<const F, const T&>;
/// Tests the function of fetch; returns whether fetch can call the function.
template <class F, class T>
constexpr bool require_fetch_function() {
  using Call = FetchFunctionCall<F, T>;
  constexpr bool kGivesValue = gives_value<Call>();
  static_assert(kGivesValue || Call::is_broken(),
                "the function of fetch is called as fn(const T&), and returns a value: write "
                "[&](const T& component) { return ...; }");
  return kGivesValue;
}

/// The call of the function of `run`.
template <class F, class... Args>
using ReplicaFunctionCall =
    FunctionCall<const std::remove_reference_t<F>, ReplicaContext&, const ComponentOf<Args>&...>;
/// The call of the function of merge_call, with a context or the strategy first.
template <class First, class F, class... Args>
using MergeFunctionCallWith = FunctionCall<const std::remove_reference_t<F>, First&,
                                           const Grouped<std::remove_cvref_t<Args>>&...>;
/// Whether a merge function takes the strategy first, and no context. A function that takes
/// anything is not tried with the strategy.
template <class F, class... Args>
constexpr bool takes_strategy() {
  if constexpr (MergeFunctionCallWith<CrossReplicaContext, F, Args...>::refuses()) {
    return !MergeFunctionCallWith<Strategy, F, Args...>::refuses();
  } else {
    return false;
  }
}
template <class F, class... Args>
using MergeFirst = std::conditional_t<takes_strategy<F, Args...>(), Strategy, CrossReplicaContext>;
template <class F, class... Args>
using MergeFunctionCall = MergeFunctionCallWith<MergeFirst<F, Args...>, F, Args...>;

/// Whether a call fits, and no call inside the function is refused.
template <class Call>
constexpr bool is_made() {
  if constexpr (Call::fits()) {
    return !std::is_same_v<std::remove_cvref_t<ResultOf<Call>>, Refused>;
  } else {
    return false;
  }
}

/// Whether each replica can get a copy of the merge function's result, or of a component of the
/// result.
template <class Call>
constexpr bool is_shared_out() {
  if constexpr (gives_value<Call>()) {
    return is_copied<ComponentOf<std::remove_cvref_t<ResultOf<Call>>>>();
  } else {
    return true;
  }
}

/// Whether batch_reduce can take the values of a type, if the type is a PerReplica, a pair of a
/// PerReplica and a destination, or a vector of pairs. Other types are refused later.
template <class V>
constexpr bool kInBatch = true;
template <class T>
constexpr bool kInBatch<PerReplica<T>> = is_nest<T>();
template <class T, class D>
constexpr bool kInBatch<std::pair<PerReplica<T>, D>> = is_nest<T>();
template <class T, class D>
constexpr bool kInBatch<std::vector<std::pair<PerReplica<T>, D>>> = is_nest<T>();

}  // namespace detail
}  // namespace belfry
