// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/strategy_core.h"
#include "belfry/detail/update_components.h"
#include "belfry/device_spec.h"
#include "belfry/distributed_values.h"
#include "belfry/variable.h"

#include <concepts>
#include <string_view>
#include <type_traits>
#include <vector>

namespace belfry {

namespace detail {

/// User types that name devices. The type's namespace has the function
/// `std::vector<DeviceSpec> devices_of(const D&)`.
template <class D>
concept NamesDevices = requires(const D& destination) {
  { devices_of(destination) } -> std::convertible_to<std::vector<DeviceSpec>>;
};

template <class D>
constexpr bool is_destination() {
  if constexpr (IsVector<D>::value) {
    return is_destination<typename D::value_type>();
  } else {
    return std::is_same_v<D, DeviceSpec> || std::is_convertible_v<const D&, std::string_view> ||
           IsVariable<D>::value || IsDistributed<D>::value || IsMirroredOn<D>::value ||
           NamesDevices<D>;
  }
}

/// `text` completed by the strategy's first device.
/// Throws: InvalidArgumentError (kDestination) for empty text, (kDeviceString).
DeviceSpec named_device(StrategyCore& core, std::string_view text, CallSite site);
/// Throws: InvalidArgumentError (kDestination) unless a value has a component for each replica.
void require_whole(StrategyCore& core, int components, CallSite site);
/// The indices of the devices in the backend, in the same order; the host has an index too.
/// Throws: InvalidArgumentError (kDestination) for an empty list, or for a device that the backend
/// lacks; (kDuplicateDevice).
std::vector<int> indices_of(StrategyCore& core, const std::vector<DeviceSpec>& devices,
                            CallSite site);
std::vector<DeviceSpec> specs_of(StrategyCore& core, const std::vector<int>& devices);

template <class D>
std::vector<DeviceSpec> named_devices(StrategyCore& core, const D& destination, CallSite site) {
  if constexpr (std::is_same_v<D, DeviceSpec>) {
    return {destination};
  } else if constexpr (std::is_convertible_v<const D&, std::string_view>) {
    return {named_device(core, destination, site)};
  } else if constexpr (IsVariable<D>::value) {
    require_owner(core, destination.state(site).info, site);
    return destination.devices();
  } else if constexpr (IsDistributed<D>::value) {
    require_whole(core, destination.size(), site);
    return specs_of(core, core.devices());
  } else if constexpr (IsMirroredOn<D>::value) {
    return destination.devices();
  } else if constexpr (IsVector<D>::value) {
    std::vector<DeviceSpec> all;
    for (const auto& part : destination) {
      const std::vector<DeviceSpec> named = named_devices(core, part, site);
      all.insert(all.end(), named.begin(), named.end());
    }
    return all;
  } else {
    return devices_of(destination);
  }
}

}  // namespace detail

/// The types of destinations (SEM-122): a DeviceSpec, which may be the host, `CPU:0`; a device
/// string, with missing fields taken from the strategy's first device; a variable, for the devices
/// of its components; a PerReplica or Mirrored, for the devices of all replicas; a MirroredOn; a
/// `std::vector` of destinations; or a type with a function `devices_of` in its namespace.
template <class D>
concept Destination = detail::is_destination<std::decay_t<D>>();

}  // namespace belfry
