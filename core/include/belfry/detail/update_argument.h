// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/backend.h"
#include "belfry/call_site.h"
#include "belfry/detail/component.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/distributed_values.h"
#include "belfry/nest.h"
#include "belfry/tensor.h"
#include "belfry/variable.h"

#include <type_traits>
#include <utility>

namespace belfry::detail {

template <class Owner, class R, class First, class... Rest>
std::type_identity<First> first_parameter(R (Owner::*)(First, Rest...) const);
template <class R, class First, class... Rest>
std::type_identity<First> first_parameter(R (*)(First, Rest...));

/// Whether a function of `update` takes the component by value, so that its changes would be lost.
/// Generic and overloaded functions are not known and pass.
template <class F>
constexpr bool takes_a_copy() {
  using Function = std::decay_t<F>;
  if constexpr (requires { first_parameter(&Function::operator()); }) {
    using First = typename decltype(first_parameter(&Function::operator()))::type;
    return !std::is_reference_v<First>;
  } else if constexpr (requires(Function function) { first_parameter(function); }) {
    using First = typename decltype(first_parameter(std::declval<Function>()))::type;
    return !std::is_reference_v<First>;
  } else {
    return false;
  }
}

/// Whether `update` can refuse such a function: it gives nothing back either, and copies of a nest
/// share nothing.
template <class T, class F, class Returned>
constexpr bool changes_nothing() {
  if constexpr (std::is_void_v<Returned> && Nest<T>) {
    return takes_a_copy<F>();
  } else {
    return false;
  }
}

/// Throws: ContextError (kOtherStrategy) unless the variable is `core`'s.
void require_owner(const StrategyCore& core, const VariableInfo& info, CallSite site);
/// Throws: the error that took the value of a variable, if the variable has none.
void require_value(const VariableInfo& info);
/// Throws: as require_owner and as require_value.
void require_own_value(const StrategyCore& core, const VariableInfo& info, CallSite site);
/// Throws: ContextError (kOtherStrategy) for a variable of another strategy; InvalidArgumentError
/// (kInvalidArgument) for a replica-local one; as require_value.
void require_shared(const StrategyCore& core, const VariableInfo& argument, CallSite site);

template <class A>
struct IsReplicaLocal : std::false_type {};
template <class T>
struct IsReplicaLocal<ReplicaLocalVariable<T>> : std::true_type {};

/// Specialised by the handle of sharded variables. A call of an update of a sharded variable is for
/// one replica, and takes what the replica has of an argument (SEM-293).
template <class A>
struct IsSharded : std::false_type {};

/// Throws: UnsupportedError (kUnsupported): a process listens that has rows of the sharded
/// variable.
void require_no_rows_listen(const StrategyCore& core, const VariableInfo& info, const char* what,
                            CallSite site);
/// Throws: InvalidArgumentError (kInvalidArgument): an argument of an update of parts that
/// `replica` has not brought.
[[noreturn]] void throw_part_lacks_argument(int replica, CallSite site);

/// Refuses arguments that update and map cannot take, for example replica-local variables.
/// `kOfParts`: the arguments of an update of a sharded variable. Throws: as require_shared,
/// require_replicas_of and throw_part_lacks_argument.
template <bool kOfParts = false, class A>
void require_argument(const StrategyCore& core, const A& argument, CallSite site) {
  constexpr bool kPart = kOfParts && IsSharded<A>::value;
  static_assert(kPart || !IsReplicaLocal<A>::value,
                "update and map take no replica-local variable as an argument: read it first");
  require_replicas_of(argument, core.size(), site);
  if constexpr (kPart) {
    require_own_value(core, argument.state(site).info, site);
  } else if constexpr (IsVariable<A>::value) {
    require_shared(core, argument.state(site).info, site);
  } else if constexpr (kOfParts) {
    Component<A>::all(argument, [&](const auto& leaf) {
      if constexpr (IsPerReplica<std::remove_cvref_t<decltype(leaf)>>::value) {
        for (int i = 0; i < core.own().count(); ++i) {
          if (!leaf.has(core.own().id(i))) throw_part_lacks_argument(core.own().id(i), site);
        }
      }
      return true;
    });
  }
}

/// The view of replica `replica` of an argument of update; of a MirroredOn, the component on
/// `place`, or the only component.
template <class A>
decltype(auto) update_argument(const A& argument, int replica, Placement place, CallSite site) {
  if constexpr (IsVariable<A>::value) {
    auto& state = argument.state(site);
    const auto& component = state.components[component_of(state.info, replica, site)].value;
    return (component);
  } else if constexpr (IsMirroredOn<A>::value) {
    return argument.size() == 1 ? argument.value()
                                : argument.on(place.backend->device_spec(place.device), site);
  } else {
    return component(argument, replica);
  }
}

template <class A>
using UpdateArgument = std::remove_cvref_t<decltype(update_argument(std::declval<const A&>(), 0,
                                                                    Placement(), CallSite()))>;

/// Whether an update of a variable of T can call the function.
template <class T, class F, class... Args>
constexpr bool is_update_function() {
  return std::is_invocable_v<const F&, T&, const UpdateArgument<Args>&...>;
}

}  // namespace belfry::detail
