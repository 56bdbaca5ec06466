// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/backend.h"
#include "belfry/cross_device_ops.h"
#include "belfry/detail/current_context.h"
#include "belfry/detail/hook_depth.h"
#include "belfry/error.h"
#include "belfry/placement.h"
#include "belfry/strategy_hooks.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace belfry {

class CrossReplicaContext;
class Strategy;

/// What a strategy has done so far.
struct StrategyStatistics {
  std::uint64_t runs = 0;
  std::uint64_t merges = 0;  ///< merge_calls, reductions in replicas, and assignments.
  std::uint64_t updates = 0;
  ReductionStatistics reduction{};

  bool operator==(const StrategyStatistics&) const = default;
};

namespace detail {

struct VariableRecord;

/// What a strategy, its contexts and its runs share. Outlives all of them but the variables.
class StrategyCore {
 public:
  StrategyCore(Strategy& owner, StrategyHooks& hooks, Backend& backend, std::vector<int> devices,
               std::optional<ReductionOrder> order);

  Strategy& owner() { return owner_; }
  Backend& backend() { return backend_; }
  int size() const { return static_cast<int>(devices_.size()); }
  /// Indices in the backend, by replica id.
  const std::vector<int>& devices() const { return devices_; }
  Placement placement(int replica) {
    return {&backend_, devices_[static_cast<std::size_t>(replica)]};
  }
  Placement placement_on(int device) const { return {&backend_, device}; }
  CrossDeviceOps& ops() { return ops_; }
  StrategyStatistics& statistics() { return statistics_; }
  /// Whether merges that a replica reaches again in a run need a tag (SEM-133); read once a run.
  bool requires_names() const { return requires_names_; }
  void set_requires_names(bool required) { requires_names_ = required; }
  std::optional<ErrorReport>& last_failure() { return last_failure_; }

  /// A context that is cross-replica for this strategy, on replica 0's device.
  CurrentContext cross_context(CrossReplicaContext& cross);
  /// Throws: ContextError unless cross-replica work of this strategy may happen here.
  void require_cross(const char* what, CallSite site);
  /// The same for work that changes variables: not where a function is called for each component,
  /// device or element, where it would be done once for each call (SEM-41).
  void require_change(const char* what, CallSite site);

  // What the strategy decides. Each checks that the hook has kept its part, and has not called
  // itself too often.
  // Throws: StrategyError (kStrategyContract), and what the hook throws.
  VariablePlaces place(Synchronization kind) const;
  void initialise(ComponentWork& variable, CallSite site);
  void update(ComponentWork& update, CallSite site);
  void reduce(const ReduceCall& call);
  std::vector<AnyTensor> broadcast(const AnyTensor& source, std::span<const Placement> targets);
  void run(StrategyStep& replicas);
  void merge(StrategyStep& merge);

  HookDepth& hook_depth() { return hook_depth_; }

  /// Remembers a variable for as long as somebody else owns it.
  void track(std::weak_ptr<VariableRecord> variable);
  /// For each living variable what puts its components back as they are now.
  std::vector<std::function<void()>> snapshots() const;

  /// Number of the next variable; also its name when it has none.
  std::uint64_t next_variable() { return variables_++; }

  /// Marks the strategy as running for the outermost run of a call chain.
  /// Throws: ContextError (kStrategyBusy, kWrongContext, kOtherStrategy).
  class RunLock {
   public:
    RunLock(StrategyCore& core, CallSite site);
    RunLock(const RunLock&) = delete;
    RunLock& operator=(const RunLock&) = delete;
    ~RunLock();

    /// False for a run inside a run of the same strategy.
    bool is_outermost() const { return outermost_; }

   private:
    StrategyCore& core_;
    bool outermost_;
  };

 private:
  Strategy& owner_;
  StrategyHooks& hooks_;
  Backend& backend_;
  std::vector<int> devices_;
  CrossDeviceOps ops_;
  StrategyStatistics statistics_;
  std::optional<ErrorReport> last_failure_;
  HookDepth hook_depth_;
  std::uint64_t variables_ = 0;
  bool requires_names_ = false;
  // Owned by the handles.
  std::vector<std::weak_ptr<VariableRecord>> living_;
  std::atomic<bool> running_{false};
};

}  // namespace detail
}  // namespace belfry
