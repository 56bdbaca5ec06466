// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/axis_verbs.h"
#include "belfry/detail/batch_reduce_pairs.h"
#include "belfry/detail/destination_verbs.h"
#include "belfry/detail/distribute.h"
#include "belfry/detail/list_verbs.h"
#include "belfry/detail/mirror.h"
#include "belfry/detail/misplaced_verbs.h"
#include "belfry/detail/process_values.h"
#include "belfry/detail/reduce_values.h"
#include "belfry/detail/reductions/reduce_op.h"
#include "belfry/detail/split_total.h"
#include "belfry/detail/update_components.h"
#include "belfry/detail/verb.h"
#include "belfry/distributed_values.h"
#include "belfry/tensor.h"

#include <type_traits>
#include <utility>
#include <vector>

namespace belfry {

/// Combines and changes the values of all replicas. A merge function gets the context as its first
/// argument; between runs `strategy.cross_replica()` returns the context.
///
///     replica.merge_call(
///         [&](CrossReplicaContext& cross, const PerReplica<double>& gradients) {
///           const Mirrored<double> mean = cross.reduce(ReduceOp::kMean, gradients);
///           cross.update(weight, [](double& w, double g) { w -= 0.1 * g; }, mean);
///         },
///         gradient);
///
/// Work on tensors is enqueued on streams of the devices, in the order of the calls; the host does
/// not block unless a verb says so.
///
/// Verbs with any number of arguments are data members of the type Verb, called like functions:
/// `cross.run(fn, 1)`. The object adds the line of the call, for errors, and forwards to `run_at`.
///
/// Errors of every verb:
/// - ContextError (kWrongContext): inside a replica; (kOtherStrategy): inside another strategy, or
///   for its variables (SEM-14);
/// - InvalidArgumentError (kVariableEmpty): a handle that names no variable;
/// - InvalidArgumentError (kForeignObject): tensors of another backend;
/// - InvalidArgumentError (kInvalidArgument): a PerReplica or Mirrored of another number of
///   replicas, or a default-constructed tensor;
/// - DeviceError (kOutOfMemory): no room for tensors that the verb makes or copies;
/// - UnsupportedError (kUnsupported): operations that the devices lack;
/// - StrategyError (kStrategyContract): a user's strategy breaks a rule of its hooks.
class CrossReplicaContext : public detail::DestinationVerbs<CrossReplicaContext>,
                            public detail::AxisVerbs<CrossReplicaContext>,
                            public detail::ListVerbs,
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

  /// Calls `fn(ReplicaContext&, const A&...)` once on every replica, and returns the results by
  /// replica; see Strategy::run.
  ///
  ///     PerReplica<R> run(F fn, A... args);
  ///     PerReplica<R> run(RunOptions options, F fn, A... args);
  ///
  /// Order: blocks the host until all replicas have ended; device work may still be running.
  /// Throws, beside exceptions of replicas and errors of their merges:
  /// - ContextError (kStrategyBusy): another thread runs this strategy, or a backend for one thread
  ///   at a time (SEM-9);
  /// - ContextError (kRunFailed): code threw ReplicaCancelled, and no replica had failed (SEM-7);
  /// - InvalidArgumentError (kInvalidArgument): no replica can take part (SEM-90);
  /// - VariableMismatchError (kVariableMismatch): replicas made different variables (SEM-48);
  /// - DeviceError (kOutOfMemory): no room for the stacks of replicas;
  /// - DeviceError (kDeadlock): all replicas and streams wait for each other;
  /// - DeviceError (kStackOverflow): the stack of a replica was too small;
  /// - UnsupportedError (kUnsupported): no threads for the replicas.
  Verb<detail::calls::Run> run{*this};
  template <class F, class... Args>
  auto run_at(const RunOptions& options, const F& fn, const Args&... args) {
    return detail::distribute(core_, *this, options, fn, args...);
  }
  template <class F, class... Args>
  auto run_at(CallSite site, const F& fn, const Args&... args) {
    return run_at(RunOptions{.concurrent = true, .site = site}, fn, args...);
  }

  /// Reduces the components of a PerReplica, leaf by leaf; the result is the same on every replica
  /// (SEM-30 to SEM-36, SEM-120, SEM-122).
  /// Order: host leaves at once. Tensors on communication streams, after the work that made them;
  /// later work waits if it uses a result, or changes an input (SEM-245).
  /// Throws:
  /// - StructureMismatchError (kStructure): structures or lengths of components differ;
  /// - InvalidArgumentError (kIntegerMean): the mean of integers;
  /// - InvalidArgumentError (kDType): bool.
  using DestinationVerbs<CrossReplicaContext>::reduce;
  using AxisVerbs<CrossReplicaContext>::reduce;
  template <class T>
  Mirrored<T> reduce(ReduceOp op, const PerReplica<T>& value, CallSite site = CallSite::here()) {
    if constexpr (detail::require_nest<T>()) {
      core_.require_cross("reduce", site);
      detail::require_replicas(core_, value.size(), site);
      if (core_.members().is_alone()) [[likely]] {
        return detail::reduce_value(core_, op, value, site);
      }
      return detail::reduce_over_processes(core_, op, value, site);
    } else {
      return detail::Refused();
    }
  }
  /// Folds the components by a reduction of the user, on replica 0's device; the result is copied
  /// to every replica (SEM-38).
  /// Order: calls the functions of the reduction on this thread; copies of tensors are enqueued.
  /// Throws: exceptions of the reduction; StructureMismatchError (kStructure).
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
  /// Returns the value: the mean of a value that all replicas share. SUM does not compile (SEM-34).
  template <class T>
  Mirrored<T> reduce(detail::MeanOnly, const Mirrored<T>& value, CallSite site = CallSite::here()) {
    core_.require_cross("reduce", site);
    detail::require_replicas(core_, value.size(), site);
    return value;
  }
  /// Reduces several values at once, for fewer collectives, and returns a tuple in their order.
  ///
  ///     std::tuple<Mirrored<T>...> batch_reduce(ReduceOp op, PerReplica<T>... values);
  ///
  /// A `std::pair` of a value and its destination gives a MirroredOn; a `std::vector` of pairs of
  /// one type gives a vector. All values are one reduction of the strategy, or one for each set of
  /// participating replicas.
  /// Order, Throws: as reduce, with and without a destination. All arguments are checked before
  /// anything is reduced.
  Verb<detail::calls::BatchReduce> batch_reduce{*this};
  template <class... V>
  auto batch_reduce_at(CallSite site, ReduceOp op, const V&... values) {
    core_.require_cross("batch_reduce", site);
    if (!core_.members().is_alone()) [[unlikely]] {
      return detail::reduce_one_by_one(*this, site, op, values...);
    }
    return detail::batch_reduce(core_, op, site, values...);
  }

  /// Gives every replica the value; tensors are copied to each device (SEM-114).
  /// Order: copies are enqueued on compute streams.
  using DestinationVerbs<CrossReplicaContext>::broadcast;
  template <class T>
  Mirrored<T> broadcast(const T& value, CallSite site = CallSite::here()) {
    core_.require_cross("broadcast", site);
    return detail::of_first_process(core_, "broadcast", value, site,
                                    [&](const T& first) { return detail::mirror(core_, first); });
  }

  /// Calls `fn(component, args...)` for each component of a variable, on the component's device,
  /// and returns the results.
  ///
  ///     Mirrored<R> update(V variable, F fn, A... args);    // Nothing if fn returns void.
  ///     Mirrored<R> update(UpdateOptions options, V variable, F fn, A... args);
  ///
  /// An argument that is a Mirrored or a variable is replaced by its component on the device that
  /// fn runs for; a MirroredOn on a single device by its value (SEM-41). If fn throws, no component
  /// has changed. With `UpdateOptions::in_place` fn changes the components themselves: if it
  /// throws, the variable has no value any more, and later uses throw the same error (SEM-42).
  /// Order: calls fn on this thread, for one component after the other; its work on tensors and
  /// copies of arguments are enqueued on compute streams. The host blocks only if fn does.
  /// Throws:
  /// - exceptions of fn;
  /// - ContextError (kWrongContext): inside the function of another update;
  /// - VariableMismatchError (kMirroredDiverged): the backend compares components, and host values
  ///   or shapes of tensors differ between components of a mirrored variable or between results
  ///   (SEM-11);
  /// - InvalidArgumentError (kDestination): an argument without a component for the device;
  /// - InvalidArgumentError (kInvalidArgument): a replica-local variable as an argument;
  /// - UnsupportedError (kUnsupported): the strategy copies results, and their type cannot be
  ///   copied (SEM-113).
  Verb<detail::calls::Update> update{*this};
  template <class V, class F, class... Args>
  auto update_at(const auto& place, const V& variable, const F& fn, const Args&... args) {
    const UpdateOptions options = detail::update_options(place);
    return detail::update_components(core_, *this, options, variable, fn, args...);
  }

  /// Does the same as update, and returns the results of all calls in the order of the components.
  ///
  ///     std::vector<R> update_each(V variable, F fn, A... args);
  Verb<detail::calls::UpdateEach> update_each{*this};
  template <class V, class F, class... Args>
  auto update_each_at(const auto& place, const V& variable, const F& fn, const Args&... args) {
    const UpdateOptions options = detail::update_options(place);
    return detail::update_each_component(core_, *this, options, variable, fn, args...);
  }

  /// Calls `fn(args...)` once on each of these devices, in their order, and returns the results.
  ///
  ///     MirroredOn<R> update_non_slot(std::vector<DeviceSpec> devices, F fn, A... args);
  ///
  /// Arguments, Order: as update.
  /// Throws, beside the errors of update, before fn is called:
  /// - InvalidArgumentError (kDestination): a device of another strategy;
  /// - InvalidArgumentError (kNoDevices, kDuplicateDevice): an empty list, or a device twice.
  Verb<detail::calls::UpdateNonSlot> update_non_slot{*this};
  template <class F, class... Args>
  auto update_non_slot_at(CallSite site, const std::vector<DeviceSpec>& devices, const F& fn,
                          const Args&... args) {
    core_.require_cross("update_non_slot", site);
    return detail::update_devices(core_, *this, site, devices, fn, args...);
  }

  /// Sets every component of a replica-local variable to `value`: a sum then reads as `value` times
  /// the number of components (SEM-57).
  /// Order: copies of tensors are enqueued.
  /// Throws: ContextError (kWrongContext) inside an update (SEM-41).
  template <class T>
  void assign_each(const ReplicaLocalVariable<T>& variable, const std::type_identity_t<T>& value,
                   CallSite site = CallSite::here()) {
    detail::VariableState<T>& state = assigned(variable, "assign_each", site);
    detail::put_components(core_, state, detail::value_for_each(core_, state.info, value), site,
                           [&value](int) { return value; });
  }
  /// Sets the components of a replica-local variable such that their sum is `total` (SEM-57).
  /// Order: blocks the host to divide tensors.
  /// Throws:
  /// - ContextError (kWrongContext): inside an update;
  /// - InvalidArgumentError (kInvalidArgument): a variable that is not read as a sum, or an invalid
  ///   SumSplit;
  /// - InvalidArgumentError (kDType): bool.
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

  /// Calls `fn(element, args...)` for each element, element k on the device of replica k mod N, and
  /// returns each replica's results, possibly an empty list (SEM-123).
  ///
  ///     PerReplica<std::vector<R>> map(std::vector<X> elements, F fn, A... args);
  ///
  /// Arguments, Order: as update.
  /// Throws: exceptions of fn; the errors of update for arguments.
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
