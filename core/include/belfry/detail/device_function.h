// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/component.h"
#include "belfry/detail/function_call.h"
#include "belfry/detail/update_argument.h"
#include "belfry/device_spec.h"

#include <type_traits>
#include <utility>
#include <vector>

/// Tests of the arguments of verbs that call a user's function on devices: update, update_each,
/// update_non_slot and map. A verb finds its first mistake before anything else, and refuses the
/// call with one message.
namespace belfry::detail {

enum class Mistake {
  kNone,
  kFirst,         ///< The argument in front of the function.
  kPerReplica,    ///< An argument behind the function.
  kReplicaLocal,  ///< The same.
  kFunction,      ///< The function cannot be called.
  kBroken,        ///< The compiler has found an error in the function.
  kCopy,          ///< The function changes a copy.
  kNoResult,      ///< The function returns nothing.
};

/// Clang explains a comparison in three lines of its own, and the name of a comparison in none.
template <Mistake found, Mistake tested>
inline constexpr bool kIsNot = found != tested;

/// In place of arguments that the call lacks.
struct Absent {};

/// `kOfParts`: of an update of a sharded variable.
template <bool kOfParts, class... Args>
constexpr Mistake mistake_in_arguments() {
  if (!kOfParts && (holds_per_replica<Args>() || ...)) return Mistake::kPerReplica;
  constexpr bool kLocal =
      ((IsReplicaLocal<Args>::value && !(kOfParts && IsSharded<Args>::value)) || ...);
  return kLocal ? Mistake::kReplicaLocal : Mistake::kNone;
}

/// The first mistake in a function: it is broken or does not fit.
template <class Call>
constexpr Mistake mistake_in_function() {
  if (Call::is_broken()) return Mistake::kBroken;
  return Call::fits() ? Mistake::kNone : Mistake::kFunction;
}

template <class V, class F, class... Args>
struct UpdateFunctionCall
    : FunctionCall<const F, typename V::value_type&, const UpdateArgument<Args>&...> {};

/// The first mistake in `update(variable, fn, args...)`. All types are without references.
template <class V = Absent, class F = Absent, class... Args>
constexpr Mistake mistake_in_update() {
  if constexpr (!IsVariable<V>::value) {
    return Mistake::kFirst;
  } else if constexpr (mistake_in_arguments<IsSharded<V>::value, Args...>() != Mistake::kNone) {
    return mistake_in_arguments<IsSharded<V>::value, Args...>();
  } else if constexpr (!UpdateFunctionCall<V, F, Args...>::fits()) {
    return mistake_in_function<UpdateFunctionCall<V, F, Args...>>();
  } else {
    using Returned = ResultOf<UpdateFunctionCall<V, F, Args...>>;
    return changes_nothing<typename V::value_type, F, Returned>() ? Mistake::kCopy : Mistake::kNone;
  }
}

/// The same for `update_each(variable, fn, args...)`, whose function returns something.
template <class V = Absent, class F = Absent, class... Args>
constexpr Mistake mistake_in_update_each() {
  if constexpr (mistake_in_update<V, F, Args...>() != Mistake::kNone) {
    return mistake_in_update<V, F, Args...>();
  } else {
    return gives_value<UpdateFunctionCall<V, F, Args...>>() ? Mistake::kNone : Mistake::kNoResult;
  }
}

template <class D, class F, class... Args>
struct NonSlotFunctionCall : FunctionCall<const F, const UpdateArgument<Args>&...> {};

/// The first mistake in `update_non_slot(devices, fn, args...)`.
template <class D = Absent, class F = Absent, class... Args>
constexpr Mistake mistake_in_update_non_slot() {
  if constexpr (!std::is_convertible_v<const D&, const std::vector<DeviceSpec>&>) {
    return Mistake::kFirst;
  } else if constexpr (mistake_in_arguments<false, Args...>() != Mistake::kNone) {
    return mistake_in_arguments<false, Args...>();
  } else {
    return mistake_in_function<NonSlotFunctionCall<D, F, Args...>>();
  }
}

template <class X>
const X& element_of(const std::vector<X>& elements);
template <class E, class F, class... Args>
struct MapFunctionCall : FunctionCall<const F, decltype(element_of(std::declval<const E&>())),
                                      const UpdateArgument<Args>&...> {};

/// The first mistake in `map(elements, fn, args...)`.
template <class E = Absent, class F = Absent, class... Args>
constexpr Mistake mistake_in_map() {
  if constexpr (!requires(const E& elements) { detail::element_of(elements); }) {
    return Mistake::kFirst;
  } else if constexpr (mistake_in_arguments<false, Args...>() != Mistake::kNone) {
    return mistake_in_arguments<false, Args...>();
  } else if constexpr (!MapFunctionCall<E, F, Args...>::fits()) {
    return mistake_in_function<MapFunctionCall<E, F, Args...>>();
  } else {
    return gives_value<MapFunctionCall<E, F, Args...>>() ? Mistake::kNone : Mistake::kNoResult;
  }
}

}  // namespace belfry::detail
