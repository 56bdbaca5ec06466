// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/strategies.h"
#include "belfry/testing/strategy_factory.h"

#include <algorithm>
#include <memory>

namespace belfry::testing {

inline CentralStorageOptions central_options(const StrategyOptions& options) {
  return {.devices = options.devices,
          .order = options.order,
          .storage = {},
          .require_names = options.require_names,
          .report_overflow = options.report_overflow};
}

/// Names the backend's last device as the storage if the number of devices is even. The strategy
/// chooses otherwise.
class CentralFactory final : public StrategyFactory {
 public:
  std::string_view name() const override { return "central storage"; }
  std::unique_ptr<Strategy> make(Backend& backend, const StrategyOptions& options) const override {
    CentralStorageOptions central = central_options(options);
    if (backend.device_count() % 2 == 0) {
      central.storage = backend.device_spec(backend.device_count() - 1);
    }
    return std::make_unique<CentralStorageStrategy>(backend, central);
  }
};

/// Keeps variables on the first device without a replica, if the options leave such a device.
class StorageApartFactory final : public StrategyFactory {
 public:
  std::string_view name() const override { return "central storage apart"; }
  std::unique_ptr<Strategy> make(Backend& backend, const StrategyOptions& options) const override {
    CentralStorageOptions central = central_options(options);
    for (const DeviceSpec& device : backend.devices()) {
      const auto& taken = options.devices;
      const bool is_free = std::ranges::find(taken, device) == taken.end();
      if (is_free && !taken.empty() && !central.storage) central.storage = device;
    }
    return std::make_unique<CentralStorageStrategy>(backend, central);
  }
};

}  // namespace belfry::testing
