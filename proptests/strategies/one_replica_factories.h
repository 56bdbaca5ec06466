// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/strategies.h"
#include "belfry/testing/strategy_factory.h"

#include <memory>

namespace belfry::testing {

/// A replica on the first device of the options, or of the backend.
class OneDeviceFactory final : public StrategyFactory {
 public:
  std::string_view name() const override { return "one device"; }
  std::unique_ptr<Strategy> make(Backend& backend, const StrategyOptions& options) const override {
    auto strategy = std::make_unique<OneDeviceStrategy>(
        backend, options.devices.empty() ? backend.device_spec(0) : options.devices.front());
    strategy->configure({.order = options.order,
                         .require_names = options.require_names,
                         .report_overflow = options.report_overflow});
    return strategy;
  }
  ReplicaDevices replica_devices() const override { return ReplicaDevices::kFirst; }
};

/// A replica in host memory, whatever the backend.
class DefaultFactory final : public StrategyFactory {
 public:
  std::string_view name() const override { return "default"; }
  std::unique_ptr<Strategy> make(Backend&, const StrategyOptions& options) const override {
    auto strategy = std::make_unique<DefaultStrategy>();
    strategy->configure({.order = options.order,
                         .require_names = options.require_names,
                         .report_overflow = options.report_overflow});
    return strategy;
  }
  ReplicaDevices replica_devices() const override { return ReplicaDevices::kOwn; }
};

}  // namespace belfry::testing
