// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/central_storage_strategy.h"
#include "belfry/testing/strategy_factory.h"

#include <memory>

namespace belfry::testing {

/// Keeps variables with replica 0, or with the last replica where their number is even.
class CentralFactory final : public StrategyFactory {
 public:
  std::string_view name() const override { return "central storage"; }
  std::unique_ptr<Strategy> make(Backend& backend, const StrategyOptions& options) const override {
    CentralStorageOptions central{
        .devices = options.devices, .order = options.order, .storage = {}};
    if (backend.device_count() % 2 == 0) {
      central.storage = backend.device_spec(backend.device_count() - 1);
    }
    return std::make_unique<CentralStorageStrategy>(backend, central);
  }
};

/// Replicas on all devices but the first, where variables live; needs two devices.
class StorageApartFactory final : public StrategyFactory {
 public:
  std::string_view name() const override { return "central storage apart"; }
  std::unique_ptr<Strategy> make(Backend& backend, const StrategyOptions& options) const override {
    CentralStorageOptions central{
        .devices = backend.devices(), .order = options.order, .storage = backend.device_spec(0)};
    if (central.devices.size() > 1) central.devices.erase(central.devices.begin());
    return std::make_unique<CentralStorageStrategy>(backend, central);
  }
};

}  // namespace belfry::testing
