// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/component.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/device_spec.h"
#include "belfry/nest.h"
#include "belfry/variable.h"

#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry::detail {

/// Cross-replica, inside an update on replica `replica`'s device.
CurrentContext update_context(StrategyCore& core, CrossReplicaContext& cross, int replica);

/// Throws: InvalidArgumentError (kDestination).
int replica_on(StrategyCore& core, const DeviceSpec& spec, CallSite site);

/// The replicas on `devices`, ascending. Throws: InvalidArgumentError (kDestination, kNoDevices,
/// kDuplicateDevice).
std::vector<int> homes_on(StrategyCore& core, const std::vector<DeviceSpec>& devices,
                          CallSite site);

/// Throws: ContextError (kOtherStrategy) unless the variable is `core`'s.
void require_owner(const StrategyCore& core, const VariableInfo& info, CallSite site);
/// Throws: InvalidArgumentError (kNoAggregation), ContextError (kOtherStrategy).
void require_aggregation(const ReplicaContext& replica, const VariableInfo& info, CallSite site);

/// Throws VariableMismatchError (kMirroredDiverged) unless all components have the same bits.
/// Tensors are compared only on request: it blocks the host until they are computed.
void require_equal_leaves(const std::vector<std::vector<LeafRef>>& components, bool with_tensors,
                          const VariableInfo& info, CallSite site);

template <class T>
void require_mirrored(ReplicaArray<T>& components, bool with_tensors, const VariableInfo& info,
                      CallSite site) {
  if constexpr (Nest<T>) {
    std::vector<std::vector<LeafRef>> leaves;
    for (T& component : components) leaves.push_back(leaves_of(component));
    require_equal_leaves(leaves, with_tensors, info, site);
  }
}

/// An argument of update as the component on `replica`'s device sees it.
template <class A>
decltype(auto) update_argument(const A& argument, int replica) {
  if constexpr (IsVariable<A>::value) {
    auto& state = argument.state({});
    const auto& component = state.components[component_of(state.info, replica, {})].value;
    return (component);
  } else {
    return component(argument, replica);
  }
}

/// Calls `fn` on a copy of each component, then puts all copies in place.
template <class V, class F, class... Args>
auto update_components(StrategyCore& core, CrossReplicaContext& cross, CallSite site,
                       const V& variable, const F& fn, const Args&... args) {
  using T = typename V::value_type;
  using Returned = decltype(fn(std::declval<T&>(), update_argument(args, 0)...));
  constexpr bool kVoid = std::is_void_v<Returned>;
  using Result = std::conditional_t<kVoid, int, std::remove_cvref_t<Returned>>;

  VariableState<T>& state = variable.state(site);
  require_owner(core, state.info, site);
  const int count = state.components.size();
  ReplicaArray<T> staged(count);
  ReplicaArray<Result> results(count);
  for (int i = 0; i < count; ++i) {
    const int replica = state.info.homes[static_cast<std::size_t>(i)];
    CurrentContext here = update_context(core, cross, replica);
    const CurrentScope scope(here);
    T& component = staged.emplace_back(state.components[i].value);
    if constexpr (kVoid) {
      fn(component, update_argument(args, replica)...);
    } else {
      results.emplace_back(fn(component, update_argument(args, replica)...));
    }
  }
  if (state.info.synchronization == Synchronization::kOnWrite &&
      core.backend().verifies_mirrored()) {
    require_mirrored(staged, false, state.info, site);
  }
  for (int i = 0; i < count; ++i) state.components[i].value = std::move(staged[i]);
  core.statistics().updates += 1;
  if constexpr (!kVoid) return Mirrored<Result>(count, std::move(results));
}

}  // namespace belfry::detail
