// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/backend.h"
#include "belfry/detail/current_context.h"
#include "belfry/detail/file_owners.h"
#include "belfry/detail/participants.h"
#include "belfry/detail/round_members.h"
#include "belfry/detail/strategy/options.h"
#include "belfry/detail/strategy_reductions.h"
#include "belfry/error.h"
#include "belfry/strategy_hooks.h"
#include "belfry/tensor.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace belfry {

class CrossReplicaContext;
class Strategy;

namespace detail {

class FlightRing;
struct FlightGroup;

struct VariableRecord;

/// A hook of a strategy. The hook may start the verb that calls the hook.
enum class Hook : std::uint8_t { kInitialise, kUpdate, kReduce, kBroadcast, kRun, kMerge };

/// The depth of each hook of one strategy: calls of the hook within calls of the hook. Calls that
/// the program's own functions start are not counted. A hook that starts its verb again without end
/// would use up the stack (SEM-145).
class HookDepth {
 public:
  static constexpr int kMost = 32;

  /// A call of a hook.
  class Call {
   public:
    /// Throws: StrategyError (kStrategyContract) for a call deeper than kMost.
    Call(HookDepth& depths, Hook hook, CallSite site) : depth_(depths.of(hook)) {
      if (depth_ == kMost) [[unlikely]] {
        refuse(hook, site);
      }
      ++depth_;
    }
    ~Call() { --depth_; }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    int& depth_;
  };

  /// A call of a function of the program by a hook.
  class Pause {
   public:
    Pause(HookDepth& depths, Hook hook) : depth_(depths.of(hook)), before_(depth_) { depth_ = 0; }
    ~Pause() { depth_ = before_; }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    int& depth_;
    int before_;
  };

 private:
  [[noreturn]] static void refuse(Hook hook, CallSite site);
  int& of(Hook hook) { return depths_[static_cast<std::size_t>(hook)]; }

  std::array<int, 6> depths_{};
};

/// The state that a strategy, its contexts and its runs share. Outlives all of them except the
/// variables.
class StrategyCore {
 public:
  StrategyCore(Strategy& owner, StrategyHooks& hooks, Backend& backend, std::vector<int> devices);

  Strategy& owner() { return owner_; }
  Backend& backend() { return backend_; }
  /// The number of replicas, of all processes together.
  int size() const { return own_.replicas(); }
  /// The replicas of this process; without a group of processes, all of them.
  const Participants& own() const { return own_; }
  /// The lowest id among the replicas of this process; in a process without replicas, an id whose
  /// values are on the first device of this process.
  int first_replica() const { return first_replica_; }
  /// Indices in the backend of the devices of this process's replicas, in order of the ids; in a
  /// process without replicas, the host alone, which holds values (SEM-213).
  const std::vector<int>& devices() const { return devices_; }
  /// The position in devices() of the device of a replica. Values of replicas of other processes
  /// come to the first device.
  int device_position(int replica) const {
    const int own = replica - first_replica_;
    return own >= 0 && own < static_cast<int>(devices_.size()) ? own : 0;
  }
  /// The index in the backend of the device of a replica, as device_position says.
  int device_of(int replica) const {
    return devices_[static_cast<std::size_t>(device_position(replica))];
  }
  Placement placement(int replica) { return {&backend_, device_of(replica)}; }
  Placement placement_on(int device) const { return {&backend_, device}; }
  /// The processes whose replicas meet in the rounds of this strategy: this process alone, or the
  /// processes of a group. In a merge of some replicas of this process, this process alone.
  RoundMembers& members() const { return *acting_; }
  RoundMembers& all_members() const { return *members_; }  ///< The same, in every merge.
  /// Sets members() until the next call, and returns those before.
  RoundMembers* set_acting(RoundMembers* members) { return std::exchange(acting_, members); }
  /// Joins the strategy to several processes (SEM-150). Context: before any other use.
  void join(std::unique_ptr<RoundMembers> members);
  /// `work()`. An exception is told to all members, in place of their next exchange.
  template <class F>
  auto telling_failure(CallSite site, const F& work) -> decltype(work()) {
    try {
      return work();
    } catch (...) {
      members_->tell_failure(site);
      throw;
    }
  }
  StrategyReductions& reductions() { return reductions_; }
  StrategyStatistics& statistics() { return statistics_; }
  /// Whether merges that a replica reaches again in a run need a tag (SEM-133); read once a run.
  bool requires_names() const { return options_.require_names; }
  /// Whether sums of integers that leave their type are errors (SEM-157).
  bool reports_overflow() const { return options_.report_overflow; }
  /// Hears of the values of variables; usually null.
  VariableTap* variable_tap() const { return variable_tap_; }
  /// Whether the log keeps digests of host values.
  bool notes_host_values() const { return notes_host_values_; }
  /// The options that were named last, without the log.
  const StrategyOptions& options() const { return options_; }
  void set_options(StrategyOptions options) { options_ = std::move(options); }
  std::optional<ErrorReport>& last_failure() { return last_failure_; }
  /// Keeps the merges of the strategy; null without a flight recorder.
  FlightRing* flights() const { return flights_; }
  FlightGroup* flight_group() const { return flight_group_; }
  /// What is known about the owners of saved and restored files.
  FileOwners& file_owners() { return file_owners_; }

  /// A context that is cross-replica for this strategy, on replica 0's device.
  CurrentContext cross_context(CrossReplicaContext& cross) {
    CurrentContext context;
    context.strategy = this;
    context.cross = &cross;
    context.backend = &backend_;
    context.device = devices_.front();
    return context;
  }
  /// Throws: ContextError unless cross-replica work of this strategy is allowed in the current
  /// context.
  void require_cross(const char* what, CallSite site) {
    const CurrentContext* const context = current_context();
    if (context == nullptr) return require_no_kernel(site);
    if (context->strategy == this && context->replica == nullptr) return;
    refuse_cross(what, *context, site);
  }
  /// The same for work that changes variables: not allowed in a function that is called for each
  /// component, device or element, as each call would repeat the work (SEM-41).
  void require_change(const char* what, CallSite site);

  // The decisions of the strategy. Each function checks the result of the hook and the depth of its
  // calls within one another.
  // Throws: StrategyError (kStrategyContract), and exceptions of the hook.
  VariablePlaces place(Synchronization kind) const;
  void initialise(ComponentWork& variable, CallSite site);
  void update(ComponentWork& update, CallSite site);
  void reduce(const ReduceCall& call) {
    const HookDepth::Call depth(hook_depth_, Hook::kReduce, {});
    hooks_.do_reduce(call);
  }
  std::vector<AnyTensor> broadcast(const AnyTensor& source, std::span<const Placement> targets);

  /// For runs, which ask `do_run` and `do_merge` themselves.
  StrategyHooks& hooks() { return hooks_; }
  HookDepth& hook_depth() { return hook_depth_; }

  /// Remembers a new variable until its last handle is gone.
  void track(const std::shared_ptr<VariableRecord>& variable);
  /// The living variable with this number; null without such a variable.
  std::shared_ptr<VariableRecord> variable(std::uint64_t number) const;
  /// For each living variable a function that restores its present components.
  std::vector<std::function<void()>> snapshots() const;

  /// Number of the next variable; also the name of a variable without a name.
  std::uint64_t next_variable() { return variables_++; }

  /// Marks the strategy as running for the outermost run of a call chain.
  /// Throws: ContextError (kStrategyBusy, kWrongContext, kOtherStrategy).
  class RunLock {
   public:
    RunLock(StrategyCore& core, CallSite site) : core_(core) {
      core.require_cross("run", site);
      const CurrentContext* const context = current_context();
      // A context of this strategy is current: a run of the strategy called us.
      outermost_ = context == nullptr || context->in_scope;
      if (outermost_ && core.running_.exchange(true)) refuse(site);
    }
    RunLock(const RunLock&) = delete;
    RunLock& operator=(const RunLock&) = delete;
    ~RunLock() {
      if (outermost_) core_.running_.store(false);
    }

    /// False for a run inside a run of the same strategy.
    bool is_outermost() const { return outermost_; }

   private:
    [[noreturn]] static void refuse(CallSite site);

    StrategyCore& core_;
    bool outermost_ = false;
  };

 private:
  [[noreturn]] void refuse_cross(const char* what, const CurrentContext& context,
                                 CallSite site) const;

  Strategy& owner_;
  StrategyHooks& hooks_;
  Backend& backend_;
  std::vector<int> devices_;
  Participants own_;
  int first_replica_ = 0;
  std::unique_ptr<RoundMembers> members_;
  RoundMembers* acting_;
  StrategyReductions reductions_;
  StrategyStatistics statistics_;
  std::optional<ErrorReport> last_failure_;
  FileOwners file_owners_{};
  FlightRing* flights_ = nullptr;
  FlightGroup* flight_group_ = nullptr;
  HookDepth hook_depth_;
  std::uint64_t variables_ = 0;
  StrategyOptions options_{};
  // Owned by the handles.
  std::vector<std::weak_ptr<VariableRecord>> living_;
  std::atomic<bool> running_{false};
  bool notes_host_values_;
  VariableTap* variable_tap_;
};

}  // namespace detail
}  // namespace belfry
