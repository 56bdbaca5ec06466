// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/device_spec.h"
#include "belfry/reduce_op.h"

#include <optional>
#include <vector>

namespace belfry {

/// Options of a strategy.
struct StrategyOptions {
  /// The devices of the replicas, in order; empty: all devices of the backend.
  std::vector<DeviceSpec> devices{};
  /// The order of every reduction. Without a value: replica order for host leaves, the
  /// communicator's declared order for tensors.
  std::optional<ReductionOrder> order{};
  /// Whether merges that a replica reaches several times in a run need a MergeTag: a check for
  /// loops over values in an order that may differ between replicas (SEM-133).
  bool require_names = false;
};

}  // namespace belfry
