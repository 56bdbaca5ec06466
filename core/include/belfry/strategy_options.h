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
  /// One replica for each, in this order; empty: all devices of the backend.
  std::vector<DeviceSpec> devices{};
  /// The order every reduction must have; none: replica order for host leaves, the communicator's
  /// declared order for tensors.
  std::optional<ReductionOrder> order{};
  /// Whether merges that a replica reaches more than once in a run must have a MergeTag: a check
  /// for loops over values whose order may differ between replicas (SEM-133).
  bool require_names = false;
};

}  // namespace belfry
