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

/// Options of a strategy. Without any: every device of the backend, and the fastest algorithm.
struct StrategyOptions {
  /// The devices of the replicas, in order; empty: all devices of the backend.
  std::vector<DeviceSpec> devices{};
  /// The order of additions in every reduction. Sums of floating-point numbers depend on the order:
  /// a named order gives the same bits on every backend and number of processes, and may rule out
  /// the fastest algorithm. Without a value: replica order for host leaves, the order of
  /// `cross_device_ops` for tensors.
  std::optional<ReductionOrder> order{};
  /// The algorithm that reduces tensors, shared with any number of strategies (SEM-146). Null: as
  /// choose_the_best decides with `links`; with a named order, the backend's communicator if it has
  /// the order, and ReductionToOneDevice if not.
  std::shared_ptr<CrossDeviceOps> cross_device_ops{};
  /// The replicas whose devices have a direct link to the device of each replica, for
  /// choose_the_best. Empty: the links of Backend::connections().
  std::vector<std::vector<int>> links{};
  /// Receives a sentence about the algorithm when the strategy is made or configured, and then
  /// warnings, each after `warning: `. Called on the thread that makes or configures the strategy;
  /// an exception leaves the constructor or `configure`.
  std::function<void(const std::string&)> log{};
  /// Whether merges that a replica reaches several times in a run need a MergeTag. Without names,
  /// replicas that loop over the same values in different orders meet at the same line, and add
  /// values that do not belong together; with names, such a loop is a MergeMismatchError (SEM-133).
  bool require_names = false;
  /// Whether a SUM of integers that leaves the element type is an InvalidArgumentError
  /// (kSumOverflow), and no result that wraps (SEM-157). Costs a second addition of all integers,
  /// and a wait of the host for integer tensors in each reduction.
  bool report_overflow = false;
};

/// An initializer that compiles, without members of their default value. An algorithm has its name,
/// in quotes; a `log` is `"a function"`.
std::string to_string(const StrategyOptions& options);

namespace detail {
template <>
inline constexpr bool kPrints<StrategyOptions> = true;
}  // namespace detail

}  // namespace belfry
