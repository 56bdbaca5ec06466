// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/device_spec.h"
#include "belfry/reduce_op.h"

#include <memory>
#include <optional>
#include <vector>

namespace belfry {

class CrossDeviceOps;

/// Options of a strategy.
struct StrategyOptions {
  /// The devices of the replicas, in order; empty: all devices of the backend.
  std::vector<DeviceSpec> devices{};
  /// The order of additions in every reduction. Without a value: replica order for host leaves, the
  /// order of `cross_device_ops` for tensors.
  std::optional<ReductionOrder> order{};
  /// The algorithm that reduces tensors (SEM-146), shared with the strategy and with any number of
  /// other strategies. Null: the backend's communicator if its order is `order` or no order is
  /// named, else ReductionToOneDevice.
  std::shared_ptr<CrossDeviceOps> cross_device_ops{};
  /// Whether merges that a replica reaches several times in a run need a MergeTag: a check for
  /// loops over values in an order that may differ between replicas (SEM-133).
  bool require_names = false;
};

}  // namespace belfry
