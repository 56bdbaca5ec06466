// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/mirror.h"
#include "belfry/detail/nest_traits.h"
#include "belfry/detail/participants.h"
#include "belfry/device_spec.h"
#include "belfry/distributed_values.h"
#include "belfry/tensor.h"

#include <type_traits>
#include <utility>
#include <vector>

namespace belfry {

class CrossReplicaContext;

namespace detail {

/// For each replica of `present`, the number of a component of a value on `devices`: the component
/// on the replica's device, or the only component (SEM-13). Throws: InvalidArgumentError
/// (kDestination) if a value on several devices has no component on the device of a replica.
std::vector<int> components_for(CrossReplicaContext& cross, const std::vector<DeviceSpec>& devices,
                                const Participants& present, CallSite site);
Placement placement_of(CrossReplicaContext& cross, int replica);

/// Whether a type is a MirroredOn, or an unpacked container with a MirroredOn inside.
template <class T>
constexpr bool holds_mirrored_on() {
  if constexpr (IsMirroredOn<T>::value) {
    return true;
  } else if constexpr (is_rebuilt<T>()) {
    return any_element<T>([]<class E>() { return holds_mirrored_on<E>(); });
  } else {
    return false;
  }
}

/// `value` with a PerReplica of the replicas of `present` in place of each MirroredOn. Tensors are
/// on the devices of the replicas. Order: copies of tensors are enqueued. Throws: as
/// components_for.
template <class T>
decltype(auto) on_replicas(CrossReplicaContext& cross, const T& value, const Participants& present,
                           CallSite site) {
  if constexpr (IsMirroredOn<T>::value) {
    using Held = typename T::value_type;
    const std::vector<int> sources = components_for(cross, value.devices(), present, site);
    ReplicaArray<Held> components(present.count());
    for (int i = 0; i < present.count(); ++i) {
      components.emplace_back(placed_on(value[sources[static_cast<std::size_t>(i)]],
                                        placement_of(cross, present.id(i))));
    }
    return PerReplica<Held>(std::move(components), present);
  } else if constexpr (holds_mirrored_on<T>()) {
    return rebuild(value, [&](const auto& part) {
      return std::remove_cvref_t<decltype(on_replicas(cross, part, present, site))>(
          on_replicas(cross, part, present, site));
    });
  } else {
    return (value);
  }
}

template <class T>
using OnReplicas = std::remove_cvref_t<decltype(on_replicas(
    std::declval<CrossReplicaContext&>(), std::declval<const T&>(),
    std::declval<const Participants&>(), CallSite()))>;

}  // namespace detail
}  // namespace belfry
