// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/strategy.h"

#include <optional>
#include <vector>

namespace belfry {

/// Options of a CentralStorageStrategy.
struct CentralStorageOptions {
  /// One replica for each, in this order; empty: all devices of the backend.
  std::vector<DeviceSpec> devices{};
  /// As in StrategyOptions.
  std::optional<ReductionOrder> order{};
  /// Where variables live; none: with the only replica, else on the backend's first CPU, else with
  /// replica 0.
  std::optional<DeviceSpec> storage{};
  /// As in StrategyOptions.
  bool require_names = false;
};

/// One replica on each device, like MirroredStrategy, but each mirrored variable has a single
/// component, on one device. An update is computed once, there. Replicas see a copy of a tensor
/// that lives on another device than theirs; it is renewed at each update (SEM-111). Replica-local
/// variables have a component with each replica.
class CentralStorageStrategy final : public Strategy {
 public:
  explicit CentralStorageStrategy(Backend& backend, CallSite site = CallSite::here());
  /// Throws: InvalidArgumentError (kDuplicateDevice, kUnknownDevice), (kInvalidArgument) for an
  /// order that is none.
  CentralStorageStrategy(Backend& backend, const CentralStorageOptions& options,
                         CallSite site = CallSite::here());

  /// Where variables live.
  DeviceSpec storage_device() { return backend().device_spec(storage_); }

 private:
  VariablePlaces do_place(Synchronization kind) const override;

  int storage_;  // In the backend.
};

}  // namespace belfry
