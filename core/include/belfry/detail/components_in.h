// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/component.h"
#include "belfry/detail/update_components.h"
#include "belfry/mirrored_on.h"
#include "belfry/nest.h"
#include "belfry/tensor.h"
#include "belfry/variable.h"

#include <set>
#include <tuple>
#include <type_traits>
#include <vector>

namespace belfry::detail {

/// Calls `visit(component)` for each component there is of a distributed value or a variable, in
/// order, or for the value itself.
template <class V, class Visit>
void for_each_component(StrategyCore& core, const V& value, CallSite site, Visit&& visit) {
  if constexpr (IsVariable<V>::value) {
    auto& state = value.state(site);
    require_owner(core, state.info, site);
    for (const auto& component : state.components) visit(component.value);
  } else if constexpr (IsPerReplica<V>::value) {
    for (const auto& component : value) visit(component);
  } else if constexpr (IsDistributed<V>::value || IsMirroredOn<V>::value) {
    for (int i = 0; i < value.size(); ++i) visit(value[i]);
  } else {
    visit(value);
  }
}

template <class V>
struct ComponentType {
  using type = V;
};
template <class V>
  requires(IsVariable<V>::value || IsDistributed<V>::value || IsMirroredOn<V>::value)
struct ComponentType<V> {
  using type = typename V::value_type;
};

/// Adds the devices on which `value` has tensors.
template <class V>
void collect_devices(StrategyCore& core, const V& value, CallSite site, std::set<int>& devices) {
  if constexpr (IsTensor<V>::value) {
    if (!value.empty()) devices.insert(value.placement().device);
  } else if constexpr (IsVariable<V>::value || IsDistributed<V>::value || IsMirroredOn<V>::value) {
    for_each_component(core, value, site, [&](const auto& component) {
      collect_devices(core, component, site, devices);
    });
  } else if constexpr (IsVector<V>::value || IsArray<V>::value) {
    for (const auto& element : value) collect_devices(core, element, site, devices);
  } else if constexpr (IsTuple<V>::value) {
    std::apply([&](const auto&... part) { (collect_devices(core, part, site, devices), ...); },
               value);
  } else if constexpr (Nest<V>) {
    for_each_leaf(value, [&](const auto& leaf) {
      if constexpr (IsTensor<std::remove_cvref_t<decltype(leaf)>>::value) {
        collect_devices(core, leaf, site, devices);
      }
    });
  }
}

}  // namespace belfry::detail
