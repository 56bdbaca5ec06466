// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/component.h"
#include "belfry/detail/containers.h"
#include "belfry/detail/nest_traits.h"
#include "belfry/detail/taken.h"
#include "belfry/distributed_values.h"

#include <type_traits>
#include <utility>
#include <vector>

/// Tests of users' functions. A verb tests its function first, and gives the caller of a wrong
/// function a Refused: the compiler reports the message of the test and nothing more.
namespace belfry {

class CrossReplicaContext;
class ReplicaContext;

namespace detail {

/// The result of a refused call; converts to any type.
struct Refused {
  template <class T>
  operator T() const;  // NOLINT: implicit on purpose.
};

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

/// Whether a call of the function with these arguments returns something.
template <class F, class... A>
constexpr bool gives_value() {
  if constexpr (std::is_invocable_v<const F&, A...>) {
    return !std::is_void_v<std::invoke_result_t<const F&, A...>>;
  } else {
    return false;
  }
}

/// Tests the function of fetch, which gets a component; returns whether fetch can call the
/// function.
template <class F, class T>
constexpr bool require_fetch_function() {
  static_assert(gives_value<F, const T&>(),
                "the function of fetch is called as fn(const T&), and returns a value: write "
                "[&](const T& component) { return ...; }");
  return gives_value<F, const T&>();
}

/// Whether `run` can call the function with these arguments.
template <class F, class... Args>
constexpr bool is_replica_function() {
  return std::is_invocable_v<const std::remove_reference_t<F>&, ReplicaContext&,
                             const ComponentOf<Args>&...>;
}
/// The same, and no call inside the function is refused.
template <class F, class... Args>
constexpr bool can_run() {
  if constexpr (is_replica_function<F, Args...>()) {
    using Result = std::invoke_result_t<const std::remove_reference_t<F>&, ReplicaContext&,
                                        const ComponentOf<Args>&...>;
    return !std::is_same_v<Result, Refused>;
  } else {
    return false;
  }
}

/// Whether merge_call can call the function with these arguments.
template <class F, class... Args>
constexpr bool is_merge_function() {
  return std::is_invocable_v<const std::remove_reference_t<F>&, CrossReplicaContext&,
                             const Grouped<std::remove_cvref_t<Args>>&...>;
}
template <class F, class... Args>
using MergeFunctionResult = std::remove_cvref_t<
    std::invoke_result_t<const std::remove_reference_t<F>&, CrossReplicaContext&,
                         const Grouped<std::remove_cvref_t<Args>>&...>>;
/// Whether each replica can get a copy of the merge function's result, or of a component of the
/// result.
template <class F, class... Args>
constexpr bool is_shared_out() {
  if constexpr (is_merge_function<F, Args...>()) {
    using Result = MergeFunctionResult<F, Args...>;
    if constexpr (std::is_void_v<Result>) {
      return true;
    } else {
      return is_copied<ComponentOf<Result>>();
    }
  } else {
    return true;
  }
}
/// Whether merge_call can carry out the merge, and no call inside the function is refused.
template <class F, class... Args>
constexpr bool can_merge() {
  if constexpr (is_merge_function<F, Args...>()) {
    return is_shared_out<F, Args...>() && !std::is_same_v<MergeFunctionResult<F, Args...>, Refused>;
  } else {
    return false;
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
