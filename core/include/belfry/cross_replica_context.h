// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/axis_verbs.h"
#include "belfry/detail/batch_reduce_pairs.h"
#include "belfry/detail/custom_reduction.h"
#include "belfry/detail/destination_verbs.h"
#include "belfry/detail/distribute.h"
#include "belfry/detail/map_elements.h"
#include "belfry/detail/mean_only.h"
#include "belfry/detail/mirror.h"
#include "belfry/detail/misplaced_verbs.h"
#include "belfry/detail/process_reductions.h"
#include "belfry/detail/process_values.h"
#include "belfry/detail/reduce_values.h"
#include "belfry/detail/split_total.h"
#include "belfry/detail/update_components.h"
#include "belfry/detail/variable_merge.h"
#include "belfry/detail/verb.h"
#include "belfry/distributed_values.h"
#include "belfry/tensor.h"

#include <type_traits>
#include <utility>
#include <vector>

namespace belfry {

/// The verbs of code outside the replicas: in merge_fn, and between runs through
/// `Strategy::cross_replica()`. Errors of every verb:
/// - ContextError (kWrongContext, kOtherStrategy) inside a replica or another strategy (SEM-14);
/// - InvalidArgumentError (kVariableEmpty) for a handle that names no variable, (kForeignObject)
///   for tensors of another backend;
/// - DeviceError (kOutOfMemory) without room for tensors that the verb makes or copies;
/// - UnsupportedError (kUnsupported) for operations that the devices lack;
/// - StrategyError (kStrategyContract) if a user's strategy breaks a rule of its hooks.
class CrossReplicaContext : public detail::DestinationVerbs<CrossReplicaContext>,
                            public detail::AxisVerbs<CrossReplicaContext>,
                            public detail::NotInMerges {
  template <class Call>
  using Verb = detail::Verb<CrossReplicaContext, Call>;

 public:
  CrossReplicaContext(const CrossReplicaContext&) = delete;
  CrossReplicaContext& operator=(const CrossReplicaContext&) = delete;

  /// The number of replicas, in all processes.
  int num_replicas() const { return core_.size(); }
  Strategy& strategy() const { return core_.owner(); }  ///< The strategy of the context.
  /// The devices of the replicas, in replica order.
  std::vector<DeviceSpec> devices() const;

  /// Runs `fn(ReplicaContext&, component of each argument...)` on every replica; see Strategy::run.
  /// Throws, beside the exceptions of replicas and merges: ContextError (kStrategyBusy) while
  /// another thread runs this strategy, or runs on a backend that is for one thread at a time
  /// (SEM-9), (kWrongContext, kOtherStrategy) inside a replica or another strategy (SEM-14),
  /// (kRunFailed) if code threw ReplicaCancelled while no run had failed (SEM-7);
  /// InvalidArgumentError (kInvalidArgument) for a PerReplica or Mirrored of another number of
  /// replicas (SEM-13), or if no replica can take part (SEM-90); MergeMismatchError (SEM-5);
  /// VariableMismatchError (kVariableMismatch) if replicas made different variables (SEM-48);
  /// DeviceError (kOutOfMemory) without room for stacks, (kDeadlock, kStackOverflow);
  /// UnsupportedError (kUnsupported) without threads for replicas; StrategyError
  /// (kStrategyContract) if a strategy breaks a rule of its hooks.
  Verb<detail::calls::Run> run{*this};
  template <class F, class... Args>
  auto run_at(const RunOptions& options, const F& fn, const Args&... args) {
    return detail::distribute(core_, *this, options, fn, args...);
  }
  template <class F, class... Args>
  auto run_at(CallSite site, const F& fn, const Args&... args) {
    return run_at(RunOptions{.concurrent = true, .site = site}, fn, args...);
  }

  /// The reduction over all replicas, the same on each (SEM-30 to SEM-36; SEM-120 and SEM-122).
  /// Order: host leaves at once; tensors are enqueued on communication streams, after the work that
  /// made them and before later work of compute streams; the host does not block.
  /// Throws: StructureMismatchError (kStructure); InvalidArgumentError (kIntegerMean), (kDType) for
  /// bool, (kInvalidArgument) for another number of replicas or a default-constructed tensor.
  using DestinationVerbs<CrossReplicaContext>::reduce;
  using AxisVerbs<CrossReplicaContext>::reduce;
  template <class T>
  Mirrored<T> reduce(ReduceOp op, const PerReplica<T>& value, CallSite site = CallSite::here()) {
    if constexpr (detail::require_nest<T>()) {
      core_.require_cross("reduce", site);
      detail::require_replicas(core_, value.size(), site);
      return detail::of_all_processes_to_reduce(
          core_, "reduce", value, site,
          [&](const PerReplica<T>& all) { return detail::reduce_value(core_, op, all, site); });
    } else {
      return detail::Refused();
    }
  }
  /// The same by a user-defined reduction, on replica 0's device; the result on every replica
  /// (SEM-38).
  /// Order: as the reduction; copies of tensors are enqueued.
  /// Throws: exceptions of the reduction; StructureMismatchError; InvalidArgumentError
  /// (kInvalidArgument) as above.
  template <class R, class T>
    requires Reduction<R, T>
  Mirrored<ReductionResult<R, T>> reduce(const R& reduction, const PerReplica<T>& value,
                                         CallSite site = CallSite::here()) {
    core_.require_cross("reduce", site);
    detail::require_replicas(core_, value.size(), site);
    return detail::of_all_processes(core_, "reduce", value, site, [&](const PerReplica<T>& all) {
      return detail::mirror(core_, detail::fold_values(core_, reduction, all, site));
    });
  }
  /// MEAN of a value that all replicas share is the value itself; SUM does not compile (SEM-34).
  template <class T>
  Mirrored<T> reduce(MeanOnly, const Mirrored<T>& value, CallSite site = CallSite::here()) {
    core_.require_cross("reduce", site);
    detail::require_replicas(core_, value.size(), site);
    return value;
  }
  /// `batch_reduce(op, values...)`: a tuple of the reductions of each value, in order. The
  /// reduction of a `std::pair` of a value and its destination is a MirroredOn; a `std::vector` of
  /// pairs of one type gives a vector.
  /// Order: all values are one reduction of the strategy, or one reduction for each set of
  /// participating replicas; then as reduce.
  /// Throws: as reduce, with and without a destination; numbers of replicas, destinations and
  /// structures are checked before anything is reduced.
  Verb<detail::calls::BatchReduce> batch_reduce{*this};
  template <class... V>
  auto batch_reduce_at(CallSite site, ReduceOp op, const V&... values) {
    core_.require_cross("batch_reduce", site);
    if (core_.processes() != nullptr) [[unlikely]] {
      return detail::reduce_one_by_one(*this, site, op, values...);
    }
    return detail::batch_reduce(core_, op, site, values...);
  }

  /// The value on every replica; tensors are copied to each device (SEM-114). Order: copies are
  /// enqueued on compute streams.
  /// Throws: InvalidArgumentError (kInvalidArgument) for a default-constructed tensor.
  using DestinationVerbs<CrossReplicaContext>::broadcast;
  template <class T>
  Mirrored<T> broadcast(const T& value, CallSite site = CallSite::here()) {
    core_.require_cross("broadcast", site);
    return detail::of_first_process(core_, "broadcast", value, site,
                                    [&](const T& first) { return detail::mirror(core_, first); });
  }

  /// `update(variable, fn, args...)` calls `fn(component, args...)` once for each component, on the
  /// component's device. A Mirrored argument or a variable gives the component for the same device,
  /// a MirroredOn on a single device the value (SEM-41). `update(options, ...)` takes
  /// UpdateOptions. Returns the results of fn, mirrored.
  /// Order: fn is called on the calling thread, for each component in turn; its work on tensors
  /// and copies of arguments are enqueued on compute streams. The host blocks only if fn does.
  /// Throws: exceptions of fn; ContextError (kOtherStrategy) for a variable of another strategy,
  /// also as an argument, (kWrongContext) inside the function of another update (SEM-41);
  /// VariableMismatchError (kMirroredDiverged) if the backend compares components (SEM-11), and
  /// host values of a mirrored variable, shapes of its tensors, or the same of results, differ;
  /// InvalidArgumentError (kDestination) for a variable, or a MirroredOn on several devices,
  /// without a component for the device, (kInvalidArgument) for a Mirrored of another number of
  /// replicas or a Variable that is replica-local; UnsupportedError (kUnsupported) if the strategy
  /// copies results (SEM-113) of a type that cannot be copied. After an error no component has
  /// changed; in place, the variable has no value then, and every use throws the error (SEM-42).
  Verb<detail::calls::Update> update{*this};
  template <class V, class F, class... Args>
  auto update_at(const auto& place, const V& variable, const F& fn, const Args&... args) {
    const UpdateOptions options = detail::update_options(place);
    return detail::update_components(core_, *this, options, variable, fn, args...);
  }

  /// The same, but returns the results of all calls in a vector, in the order of the components.
  Verb<detail::calls::UpdateEach> update_each{*this};
  template <class V, class F, class... Args>
  auto update_each_at(const auto& place, const V& variable, const F& fn, const Args&... args) {
    const UpdateOptions options = detail::update_options(place);
    return detail::update_each_component(core_, *this, options, variable, fn, args...);
  }

  /// `update_non_slot(devices, fn, args...)` calls `fn(args...)` once on each of `devices`, with
  /// arguments as in update, and returns the results as a MirroredOn (SEM-41).
  /// Order: as update, for each device in turn, in the order of `devices`.
  /// Throws: as update; InvalidArgumentError (kDestination) for a device of another strategy,
  /// (kNoDevices) for an empty list, (kDuplicateDevice) for a repeated device, all before fn is
  /// called.
  Verb<detail::calls::UpdateNonSlot> update_non_slot{*this};
  template <class F, class... Args>
  auto update_non_slot_at(CallSite site, const std::vector<DeviceSpec>& devices, const F& fn,
                          const Args&... args) {
    core_.require_cross("update_non_slot", site);
    return detail::update_devices(core_, *this, site, devices, fn, args...);
  }

  /// Gives every component of a replica-local variable this value: a sum is then the value times
  /// the number of components (SEM-57).
  /// Order: copies of tensors are enqueued.
  /// Throws: ContextError (kOtherStrategy), also (kWrongContext) inside an update (SEM-41).
  template <class T>
  void assign_each(const ReplicaLocalVariable<T>& variable, const std::type_identity_t<T>& value,
                   CallSite site = CallSite::here()) {
    detail::VariableState<T>& state = assigned(variable, "assign_each", site);
    detail::put_components(core_, state, detail::value_for_each(core_, state.info, value), site,
                           [&value](int) { return value; });
  }
  /// Makes this total the sum of the components of a replica-local variable (SEM-57).
  /// Order: blocks the host to divide tensors.
  /// Throws: as assign_each; InvalidArgumentError (kInvalidArgument) for a variable that is not
  /// read as a sum or an invalid SumSplit, (kDType) for bool.
  template <class T>
  void assign_total(const ReplicaLocalVariable<T>& variable, const std::type_identity_t<T>& total,
                    SumSplit split = SumSplit::kFirst, CallSite site = CallSite::here()) {
    if constexpr (detail::require_nest<T>()) {
      detail::VariableState<T>& state = assigned(variable, "assign_total", site);
      detail::require_sum(state.info, site);
      detail::require_total(core_, state.info, total, split, site);
      auto components = detail::split_total(core_, state.info, total, split, site);
      detail::put_components(core_, state, std::move(components), site, [&](int replica) {
        return detail::share_of_total(core_, state.info, total, split, replica, site);
      });
    }
  }

  /// `map(elements, fn, args...)` calls `fn(element, args...)` for element k on the device of
  /// replica k mod N, with arguments as in update; every replica has a list of results, possibly
  /// empty (SEM-123).
  /// Order: fn is called on the calling thread, for each element in turn; otherwise as update.
  /// Throws: exceptions of fn; for arguments as update.
  Verb<detail::calls::Map> map{*this};
  template <class X, class F, class... Args>
  auto map_at(CallSite site, const std::vector<X>& elements, const F& fn, const Args&... args) {
    core_.require_cross("map", site);
    return detail::map_elements(core_, *this, site, elements, fn, args...);
  }

  /// For belfry itself.
  detail::StrategyCore& core() const { return core_; }

 private:
  friend class Strategy;
  explicit CrossReplicaContext(detail::StrategyCore& core) : core_(core) {}
  template <class T>
  detail::VariableState<T>& assigned(const ReplicaLocalVariable<T>& variable, const char* what,
                                     CallSite site) {
    core_.require_change(what, site);
    detail::VariableState<T>& state = variable.state(site);
    detail::require_owner(core_, state.info, site);
    core_.statistics().updates += 1;
    return state;
  }

  detail::StrategyCore& core_;
};

}  // namespace belfry

#include "belfry/detail/replica_merges.h"
