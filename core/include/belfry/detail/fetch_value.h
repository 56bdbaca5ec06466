// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/changed_components.h"
#include "belfry/detail/component.h"
#include "belfry/detail/components_in.h"
#include "belfry/detail/mirror.h"
#include "belfry/detail/mirrored_check.h"
#include "belfry/detail/reduce_values.h"
#include "belfry/detail/update_components.h"

#include <type_traits>
#include <vector>

namespace belfry::detail {

/// Throws: UnsupportedError: components of a type that is no nest cannot be reduced.
[[noreturn]] void throw_not_reducible(const VariableInfo& info, CallSite site);

/// Cross-replica, with new tensors on a device of the backend.
CurrentContext fetch_context(StrategyCore& core, CrossReplicaContext& cross, int device);

/// `fn(value)` on `device`, computed where the value is: on `device` itself when it is among `own`,
/// the devices of the components, else on the first of them, and copied.
template <class Values, class F>
auto fetch_from(StrategyCore& core, CrossReplicaContext& cross, const Values& values,
                const std::vector<int>& own, int device, const F& fn) {
  const int* there = find_device(own, device);
  CurrentContext here = fetch_context(core, cross, there == nullptr ? own.front() : device);
  const CurrentScope scope(here);
  const int source = there == nullptr ? 0 : static_cast<int>(there - own.data());
  return placed_on(std::remove_cvref_t<decltype(fn(values[source]))>(fn(values[source])),
                   core.placement_on(device));
}

/// A single value, in the form of a list with one element.
template <class T>
struct OnlyValue {
  const T& operator[](int) const { return value; }

  T value;
};

template <class T, class F>
auto fetch_variable(StrategyCore& core, CrossReplicaContext& cross, VariableState<T>& state,
                    int device, const F& fn, CallSite site) {
  require_own_value(core, state.info, site);
  const ComponentsOf<T> components{state};
  std::vector<int> own = state.info.places.devices;
  // As it is read: on the first replica's device.
  if (state.reader) {
    const OnlyValue<T> total{of_all_components(
        core, "fetch", state, site,
        [&](const PerReplica<T>& all) { return state.reader->read(core, all, site); })};
    return fetch_from(core, cross, total, {core.devices().front()}, device, fn);
  }
  const bool reduces = state.info.synchronization == Synchronization::kOnRead &&
                       state.info.aggregation != Aggregation::kOnlyFirst;
  if (!reduces) {
    if (state.info.synchronization == Synchronization::kOnRead) {
      const OnlyValue<T> first{value_of_first(core, "fetch", state, site)};
      return fetch_from(core, cross, first, {own.front()}, device, fn);
    } else {
      require_mirrored(core, state, site);
    }
    return fetch_from(core, cross, components, own, device, fn);
  }
  if constexpr (Nest<T>) {
    const ReduceOp op = reduce_op_of(state.info.aggregation);
    const Mirrored<T> total = of_all_components(
        core, "fetch", state, site,
        [&](const PerReplica<T>& all) { return reduce_value(core, op, all, site); });
    // By replica, wherever the components live.
    return fetch_from(core, cross, OnOwnDevices<T>{core, total}, core.devices(), device, fn);
  } else {
    throw_not_reducible(state.info, site);
    return fetch_from(core, cross, components, own, device, fn);
  }
}

/// See DestinationVerbs::fetch.
template <class V, class F>
auto fetch_value(StrategyCore& core, CrossReplicaContext& cross, const V& value, int device,
                 const F& fn, CallSite site) {
  static_assert(!IsPerReplica<V>::value,
                "fetch takes a variable or a value that is the same everywhere: reduce a "
                "PerReplica first");
  static_assert(IsVariable<V>::value || IsDistributed<V>::value || IsMirroredOn<V>::value,
                "fetch takes a variable, a Mirrored or a MirroredOn");
  if constexpr (IsVariable<V>::value) {
    return fetch_variable(core, cross, value.state(site), device, fn, site);
  } else if constexpr (IsMirroredOn<V>::value) {
    return fetch_from(core, cross, value, indices_of(core, value.devices(), site), device, fn);
  } else {
    require_replicas(core, value.size(), site);
    using T = typename V::value_type;
    return fetch_from(core, cross, OnOwnDevices<T>{core, value}, core.devices(), device, fn);
  }
}

/// The only device of a destination. Throws: InvalidArgumentError (kDestination).
int only_device(const std::vector<int>& devices, CallSite site);

}  // namespace belfry::detail
