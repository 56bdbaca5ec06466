// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/destination.h"
#include "belfry/detail/mirror.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/distributed_values.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace belfry::detail {

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
