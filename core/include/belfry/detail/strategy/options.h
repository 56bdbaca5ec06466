// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/prints.h"
#include "belfry/device_spec.h"
#include "belfry/reduce_op.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
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
  /// other strategies. Null: as choose_the_best decides with `links` if no order is named; else the
  /// backend's communicator if it has the order, and ReductionToOneDevice if not.
  std::shared_ptr<CrossDeviceOps> cross_device_ops{};
  /// The replicas whose devices have a direct link to the device of each replica, for
  /// choose_the_best. Empty: the links of Backend::connections().
  std::vector<std::vector<int>> links{};
  /// Receives a sentence about the algorithm when the strategy is made or configured, and then
  /// warnings, each after `warning: `. Called on the thread that makes or configures the strategy;
  /// an exception leaves the constructor or `configure`.
  std::function<void(const std::string&)> log{};
  /// Whether merges that a replica reaches several times in a run need a MergeTag: a check for
  /// loops over values in an order that may differ between replicas (SEM-133).
  bool require_names = false;
  /// Whether a SUM of integers that leaves the element type is an InvalidArgumentError
  /// (kSumOverflow) in place of a result that wraps (SEM-157). Then each reduction with integers
  /// adds twice, and blocks the host until its integer tensors are computed.
  bool report_overflow = false;
};

/// The options as an initializer that compiles, without members of their usual value. Of an
/// algorithm the text has the name, in quotes; of `log`, `"a function"`.
std::string to_string(const StrategyOptions& options);

namespace detail {
template <>
inline constexpr bool kPrints<StrategyOptions> = true;
}  // namespace detail

}  // namespace belfry
