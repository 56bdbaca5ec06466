// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "belfry/cross_replica_context.h"
#include "belfry/detail/mirror.h"
#include "belfry/detail/update_components.h"
#include "belfry/variable.h"

namespace belfry::detail {

/// Fills in what a new variable is. Throws: ContextError (kOtherStrategy, kWrongContext).
VariableInfo new_variable(StrategyCore& core, VariableOptions options, CallSite site);

template <class Init>
auto initial_value(const Init& init) {
  if constexpr (std::is_invocable_v<const Init&>) {
    return init();
  } else {
    return init;
  }
}

/// Calls the initialiser once and copies component 0 to the others.
template <class Init>
auto make_variable(StrategyCore& core, CrossReplicaContext& cross, const Init& init,
                   VariableOptions options, CallSite site) {
  using T = std::remove_cvref_t<decltype(initial_value(init))>;
  auto state = std::make_shared<VariableState<T>>();
  state->info = new_variable(core, std::move(options), site);
  CurrentContext here = update_context(core, cross, 0);
  const CurrentScope scope(here);
  state->components = ReplicaArray<typename VariableState<T>::Padded>(core.size());
  state->components.emplace_back(placed_on(core, initial_value(init), 0));
  for (int replica = 1; replica < core.size(); ++replica) {
    state->components.emplace_back(placed_on(core, state->components[0].value, replica));
  }
  return state;
}

/// Copies of all components.
template <class V>
auto components_of(StrategyCore& core, const V& variable, CallSite site) {
  using T = typename V::value_type;
  const VariableState<T>& state = variable.state(site);
  require_owner(core, state.info, site);
  ReplicaArray<T> values(core.size());
  for (const auto& component : state.components) values.emplace_back(component.value);
  return PerReplica<T>(std::move(values));
}

template <class T>
T read_mirrored(StrategyCore& core, const MirroredVariable<T>& variable, CallSite site) {
  VariableState<T>& state = variable.state(site);
  require_owner(core, state.info, site);
  if (Nest<T> && core.backend().verifies_mirrored()) {
    ReplicaArray<T> copies(core.size());
    for (const auto& component : state.components) copies.emplace_back(component.value);
    require_mirrored(copies, true, state.info, site);
  }
  return state.components[0].value;
}

template <class T>
T read_local(StrategyCore& core, const ReplicaLocalVariable<T>& variable, CallSite site) {
  return reduce_value(core, variable.reduce_op(), components_of(core, variable, site), site).value();
}

StrategyStatistics statistics_of(StrategyCore& core);

}  // namespace belfry::detail
