// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/destination.h"
#include "belfry/detail/component.h"
#include "belfry/detail/device_work.h"
#include "belfry/detail/mirror.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/detail/update_components.h"
#include "belfry/distributed_values.h"
#include "belfry/nest.h"
#include "belfry/tensor.h"
#include "belfry/variable.h"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace belfry::detail {

/// Calls `visit(component)` for each component of a distributed value or a variable, in order, or
/// for the value itself.
template <class V, class Visit>
void for_each_component(StrategyCore& core, const V& value, CallSite site, Visit&& visit) {
  if constexpr (IsVariable<V>::value) {
    auto& state = value.state(site);
    require_own_value(core, state.info, site);
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

/// Specialised for types that are no nests and have tensors: `of(value)` is a tuple of them.
template <class V>
struct TensorsIn;

template <class V>
struct IsVariant : std::false_type {};
template <class... T>
struct IsVariant<std::variant<T...>> : std::true_type {
  template <class Test>
  static constexpr bool all(const Test& test) {
    return (test.template operator()<T>() && ...);
  }
};

/// Whether values of a type neither have nor name bytes on a device.
template <class V>
constexpr bool is_on_the_host() {
  return Element<V> || std::is_arithmetic_v<V> || std::is_enum_v<V> || std::is_empty_v<V> ||
         std::is_same_v<V, std::string>;
}

/// Whether `group` finds all tensors in values of a type.
template <class V>
constexpr bool is_grouped() {
  if constexpr (IsTensor<V>::value || std::is_same_v<V, AnyTensor> || is_on_the_host<V>()) {
    return true;
  } else if constexpr (IsVariable<V>::value || IsDistributed<V>::value || IsMirroredOn<V>::value) {
    return is_grouped<typename V::value_type>();
  } else if constexpr (requires(const V& value) { TensorsIn<V>::of(value); }) {
    return true;
  } else if constexpr (IsVariant<V>::value) {
    return IsVariant<V>::all([]<class E>() { return is_grouped<E>(); });
  } else if constexpr (is_container<V>()) {
    return all_elements<V>([]<class E>() { return is_grouped<E>(); });
  } else {
    return false;
  }
}

/// Adds the work with the tensors of `value`. The type of the value is grouped.
template <class V>
void collect_work(StrategyCore& core, const V& value, CallSite site, DeviceWork& work) {
  [[maybe_unused]] const auto collect = [&](const auto&... part) {
    (collect_work(core, part, site, work), ...);
  };
  if constexpr (std::is_same_v<V, AnyTensor>) {
    work.add(value);
  } else if constexpr (IsTensor<V>::value) {
    work.add(value.any());
  } else if constexpr (IsVariable<V>::value || IsDistributed<V>::value || IsMirroredOn<V>::value) {
    for_each_component(core, value, site, collect);
  } else if constexpr (requires { TensorsIn<V>::of(value); }) {
    std::apply(collect, TensorsIn<V>::of(value));
  } else if constexpr (IsVariant<V>::value) {
    std::visit(collect, value);
  } else if constexpr (is_container<V>()) {
    for_each_child(value, collect);
  }
}

/// A place in `own` where `device` is named, or none.
inline const int* find_device(const std::vector<int>& own, int device) {
  const auto found = std::ranges::find(own, device);
  return found == own.end() ? nullptr : &*found;
}

/// Brings a value from the devices `own`, with a component on each, to `devices`. A component that
/// is on a device of the destination is not copied; every other device gets a copy of the first
/// component. Host values are shared.
template <class T, class Values>
MirroredOn<T> place(StrategyCore& core, const Values& values, const std::vector<int>& own,
                    const std::vector<int>& devices) {
  const int count = lives_on_devices<T>() ? static_cast<int>(devices.size()) : 1;
  ReplicaArray<T> components(count);
  for (int i = 0; i < count; ++i) {
    const int device = devices[static_cast<std::size_t>(i)];
    const int* there = find_device(own, device);
    const int source = there == nullptr ? 0 : static_cast<int>(there - own.data());
    components.emplace_back(placed_on(values[source], core.placement_on(device)));
  }
  return MirroredOn<T>(specs_of(core, devices), std::move(components));
}

/// Copies of `value` on `devices`, as the strategy broadcasts.
template <class T>
MirroredOn<T> broadcast_to(StrategyCore& core, const T& value, const std::vector<int>& devices) {
  std::vector<Placement> targets;
  targets.reserve(devices.size());
  for (int device : devices) targets.push_back(core.placement_on(device));
  if (!lives_on_devices<T>()) targets.resize(1);
  return MirroredOn<T>(specs_of(core, devices), copies_on(core, value, targets));
}

/// A Mirrored on the devices of a destination.
template <class T>
MirroredOn<T> place(StrategyCore& core, const Mirrored<T>& value, const std::vector<int>& devices) {
  return place<T>(core, OnOwnDevices<T>{core, value}, core.devices(), devices);
}

template <class D>
std::vector<int> destination_of(StrategyCore& core, const D& destination, CallSite site) {
  return indices_of(core, named_devices(core, destination, site), site);
}

}  // namespace belfry::detail
