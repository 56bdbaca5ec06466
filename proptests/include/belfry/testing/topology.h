// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/backend.h"
#include "belfry/detail/prints.h"
#include "belfry/device_spec.h"

#include <string>
#include <vector>

namespace belfry::testing {

/// The devices of a strategy on a backend: replica i runs on device `devices[i]`. Also a
/// destination. `topology` of `belfry/testing/arbitrary.h` draws a topology.
struct Topology {
  int backend_devices = 1;         ///< The number of the backend's devices.
  std::vector<int> devices = {0};  ///< Indices in the backend: at least one, and no index twice.

  /// All devices of a backend with `backend_devices` devices, in order.
  static Topology whole(int backend_devices);
  /// Whether the strategy has all devices, in order.
  bool is_whole() const { return *this == whole(backend_devices); }
  /// The names of the devices, in their order: StrategyOptions::devices.
  std::vector<DeviceSpec> specs(const Backend& backend) const;

  bool operator==(const Topology&) const = default;
};

/// `all 4 devices`, or `devices 3, 0 of 4`.
std::string to_string(const Topology& topology);

using belfry::operator<<;

}  // namespace belfry::testing
