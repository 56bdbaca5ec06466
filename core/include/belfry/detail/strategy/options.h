// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/prints.h"
#include "belfry/detail/reductions/reduce_op.h"
#include "belfry/device_spec.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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

/// How `run` runs the replicas.
struct RunOptions {
  /// False asks for the serial schedule: replica 0 runs to its next merge, then replica 1, and so
  /// on. Slower with threads, and the same order in each run, for debugging.
  bool concurrent = true;
  /// The call of `run`, for messages.
  CallSite site = CallSite::here();
};

/// `{.concurrent = false}` or `{}`.
std::string to_string(const RunOptions& options);

/// How `update` and `update_each` change the components of a variable.
struct UpdateOptions {
  /// Whether the function changes the components themselves and not copies. A tensor without a
  /// second handle then needs no second memory; but after an exception the variable has no value,
  /// and every use throws (SEM-42).
  bool in_place = false;
  /// Whether the function sets whole components, and reads no old value: the variable may be
  /// without a value, for example after an exception in place.
  bool anew = false;
  /// The call, for messages.
  CallSite site = CallSite::here();
};

/// `{.in_place = true}` or `{}`.
std::string to_string(const UpdateOptions& options);

/// Names a merge, or a variable that replicas make: `replica.all_reduce(MergeTag{name},
/// ReduceOp::kSum, gradient)`. The name takes the place of the call site: merges with equal names
/// meet at any line, and merges with different names never meet (SEM-132). The text is not copied:
/// pass a literal, a string that outlives the call, or a temporary of the same expression.
struct MergeTag {
  std::string_view name{};           ///< Of the merge or the variable.
  CallSite site = CallSite::here();  ///< The call, for messages.
};

/// `"weight"`: the name of the tag, in quotes.
std::string to_string(const MergeTag& tag);

/// Counters of all reductions so far.
struct ReductionStatistics {
  std::uint64_t reductions = 0;     ///< Calls.
  std::uint64_t host_leaves = 0;    ///< Leaves reduced in host memory.
  std::uint64_t tensor_leaves = 0;  ///< Leaves reduced by an algorithm or by kernels.
  std::uint64_t bytes = 0;          ///< Of all inputs.

  bool operator==(const ReductionStatistics&) const = default;
};

/// `reductions 6, host leaves 3, tensor leaves 3, bytes 64`.
std::string to_string(const ReductionStatistics& statistics);

/// Counts of the work of a strategy.
struct StrategyStatistics {
  std::uint64_t runs = 0;           ///< Calls of `run`.
  std::uint64_t merges = 0;         ///< merge_calls, reductions in replicas, and assignments.
  std::uint64_t updates = 0;        ///< Calls of update functions.
  ReductionStatistics reduction{};  ///< Of the reductions.

  bool operator==(const StrategyStatistics&) const = default;
};

/// `runs 2, merges 6, updates 4, reductions 6, host leaves 3, tensor leaves 3, bytes 64`.
std::string to_string(const StrategyStatistics& statistics);

namespace detail {
/// The options of an update at a call site, or with options.
inline const UpdateOptions& update_options(const UpdateOptions& options) { return options; }
inline UpdateOptions update_options(CallSite site) { return {.site = site}; }

}  // namespace detail

}  // namespace belfry
