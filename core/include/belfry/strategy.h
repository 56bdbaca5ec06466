// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/cross_replica_context.h"
#include "belfry/detail/dataset/distribute_options.h"
#include "belfry/detail/function_call.h"
#include "belfry/detail/make_variable.h"
#include "belfry/detail/misplaced_verbs.h"
#include "belfry/detail/strategy/options.h"
#include "belfry/detail/strategy_verbs.h"
#include "belfry/detail/verb.h"
#include "belfry/device_spec.h"
#include "belfry/group_context.h"
#include "belfry/reduction.h"
#include "belfry/replica_context.h"
#include "belfry/replica_groups.h"
#include "belfry/strategy_hooks.h"
#include "belfry/variable.h"

#include <concepts>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry {

template <class T>
class Dataset;
template <class B>
class DistributedDataset;

/// Runs a function on every replica, keeps the variables of the replicas, and combines their
/// values. A replica runs on each device of the strategy:
///
///     sim::Backend backend{{.devices = 2}};
///     MirroredStrategy strategy{backend};
///     auto weight = strategy.mirrored_variable(1.0, {.aggregation = Aggregation::kMean});
///     strategy.run([&](ReplicaContext& replica, double gradient) {
///       replica.assign_sub(weight, 0.1 * gradient);    // 0.2 and 0.4: the mean is 0.3.
///     }, PerReplica<double>{2.0, 4.0});                // A gradient for each replica.
///     std::cout << strategy.read(weight);              // 0.7
///
/// `Strategy` is the base class: a program makes a class of belfry/strategies.h, or one of its own
/// with other hooks (docs/strategies.md). Not copyable. The backend outlives the strategy, and the
/// strategy outlives the last use of its variables. Threads call `run` in turn: a second thread
/// meanwhile gets a ContextError (kStrategyBusy).
/// Functions enqueue nothing and do not block the host, unless they say so. Verbs on values throw
/// ContextError (kWrongContext, kOtherStrategy) inside a replica or another strategy; replicas may
/// ask for facts, and make variables and scopes.
class Strategy : public detail::StrategyVerbs<Strategy>,
                 public detail::NotOnStrategies,
                 protected StrategyHooks {
 public:
  virtual ~Strategy();

  int num_replicas() const { return core_.size(); }  ///< The number of replicas, in all processes.
  /// The devices of this process's replicas, in replica order.
  std::vector<DeviceSpec> worker_devices() const { return devices(); }
  /// The devices of mirrored variables: each replica's device, unless the strategy places variables
  /// elsewhere (SEM-110).
  std::vector<DeviceSpec> parameter_devices() const;
  /// The devices for updates of state without a variable: the devices of variables.
  std::vector<DeviceSpec> non_slot_devices() const { return parameter_devices(); }
  using StrategyVerbs<Strategy>::non_slot_devices;
  std::vector<DeviceSpec> devices() const { return cross_.devices(); }  ///< As worker_devices.
  /// Each replica's position in worker_devices().
  PerReplica<int> worker_device_index() const;
  Backend& backend() { return core_.backend(); }  ///< The backend of the devices.
  /// The placement of a replica, in any context. Throws: InvalidArgumentError (kInvalidArgument).
  Placement placement(int replica, CallSite site = CallSite::here());
  /// The cross-replica context for code between runs.
  CrossReplicaContext& cross_replica() { return cross_; }

  /// Groups of replicas, a list of ids for each: `groups({{0, 2}, {1, 3}})` (SEM-270).
  /// Throws: InvalidArgumentError (kInvalidArgument): no or an empty group, an invalid id, one
  /// twice.
  ReplicaGroups groups(std::vector<std::vector<int>> ids, CallSite site = CallSite::here()) const;
  /// The replicas on axes, the last the fastest: `mesh({{"data", 2}, {"model", 3}})` (SEM-271).
  /// Throws: InvalidArgumentError (kInvalidArgument): no axis, a size below 1, a name twice, or
  /// sizes for another number of replicas.
  ReplicaMesh mesh(std::vector<MeshAxis> axes, CallSite site = CallSite::here()) const;

  /// Makes the cross-replica context current until the end of a block: `const Scope scope =
  /// strategy.scope();`
  Scope scope(CallSite site = CallSite::here()) { return {core_, cross_, site}; }

  /// Calls `fn(ReplicaContext&, const A&...)` once on every replica, and returns the results by
  /// replica.
  ///
  ///     PerReplica<R> run(F fn, A... args);    // Nothing if fn returns void.
  ///     PerReplica<R> run(RunOptions options, F fn, A... args);
  ///
  /// A PerReplica or Mirrored argument, also inside containers, gives each replica its component;
  /// any other argument is the same for all. A variable that fn returns is returned itself.
  /// Order: blocks the host until all replicas have ended; device work of the replicas may still be
  /// running.
  /// Throws: the exception of the failing replica with the lowest id, with its own type; errors of
  /// belfry as CrossReplicaContext::run. The strategy stays usable, and `last_failure` has the
  /// report.
  detail::Verb<CrossReplicaContext, detail::calls::Run> run{cross_};
  template <class F, class... Args>
  auto run_at(CallSite site, const F& fn, const Args&... args) {
    return cross_.run_at(site, fn, args...);
  }

  /// The steps of a dataset of global batches: each batch is split over the replicas (SEM-95).
  /// Needs belfry/distributed_dataset.h.
  /// Order, Throws: as DistributedDataset.
  template <class B>
  DistributedDataset<B> distribute_dataset(const Dataset<B>& dataset,
                                           const DistributeOptions& options,
                                           CallSite site = CallSite::here());
  /// The steps of the dataset that `fn(InputContext)` returns: each replica takes a whole element
  /// in turn (SEM-95). `fn` is called once, here, and may return a function for the next element
  /// instead.
  /// Order, Throws: as DistributedDataset; exceptions of `fn`.
  template <class F>
  auto distribute_datasets_from_function(const F& fn, DistributeOptions options,
                                         CallSite site = CallSite::here());
  /// A value for each replica: `fn(ValueContext)`. Otherwise as distribute_values.
  template <class F>
  auto distribute_values_from_function(const F& fn, CallSite site = CallSite::here()) {
    using Call = detail::FunctionCall<const F, ValueContext>;
    static_assert(!Call::refuses(),
                  "distribute_values_from_function calls fn(ValueContext) for the values: write "
                  "[&](const ValueContext& context) { return ...; }");
    if constexpr (Call::fits()) {
      return distribute_values([&](int id) { return fn(ValueContext{id, num_replicas()}); }, site);
    } else {
      return Call::no_result();
    }
  }
  /// A value for each replica: `fn(replica_id)`.
  /// Order: calls `fn` in replica order, each time with the replica's device current.
  /// Throws: exceptions of `fn`.
  template <class F>
  auto distribute_values(const F& fn, CallSite site = CallSite::here()) {
    return detail::values_for_replicas(core_, cross_, fn, site);
  }

  /// A variable with equal components. `init` is the first value, or a function of no arguments
  /// that is called once, on component 0's device; the other components are copies (SEM-40). In a
  /// replica all replicas make the variable together, as a merge (SEM-48).
  /// Order: copies of tensors are enqueued.
  /// Throws:
  /// - exceptions of `init`;
  /// - ContextError (kOtherStrategy): inside another strategy;
  /// - the errors of detail::make_variable.
  using StrategyVerbs<Strategy>::mirrored_variable;
  template <class Init>
  auto mirrored_variable(const Init& init, VariableOptions options = {},
                         detail::MergePlace place = CallSite::here()) {
    options.synchronization = Synchronization::kOnWrite;
    return MirroredVariable(detail::make_variable(core_, cross_, init, std::move(options), place));
  }
  /// A variable with an independent component on each replica. The components start equal, and a
  /// read combines the components by the ReduceOp or Aggregation (SEM-50). Never trainable.
  /// Order, Throws: as mirrored_variable.
  using StrategyVerbs<Strategy>::replica_local_variable;
  template <class Init>
  auto replica_local_variable(ReduceOp op, const Init& init, VariableOptions options = {},
                              detail::MergePlace place = CallSite::here()) {
    return replica_local_variable(aggregation_of(op, place.site), init, std::move(options), place);
  }
  template <class Init>
  auto replica_local_variable(Aggregation by, const Init& init, VariableOptions options = {},
                              detail::MergePlace at = CallSite::here()) {
    options.synchronization = Synchronization::kOnRead;
    options.aggregation = by;
    return ReplicaLocalVariable(detail::make_variable(core_, cross_, init, std::move(options), at));
  }
  /// A variable that a reduction of the user reads, saves and restores (SEM-38).
  /// Order, Throws: as mirrored_variable.
  template <class R, class Init>
    requires(!std::same_as<R, ReduceOp> && !std::same_as<R, Aggregation>)
  auto replica_local_variable(const R& reduction, const Init& init, VariableOptions options = {},
                              detail::MergePlace place = CallSite::here()) {
    return ReplicaLocalVariable(
        detail::make_reduced_variable(core_, cross_, reduction, init, std::move(options), place));
  }
  /// A variable of the kind that the options or the enclosing scopes select, and mirrored without a
  /// selection (SEM-47).
  /// Order, Throws: as mirrored_variable.
  using StrategyVerbs<Strategy>::variable;
  template <class Init>
  auto variable(const Init& init, VariableOptions options = {},
                detail::MergePlace place = CallSite::here()) {
    return Variable(detail::make_variable(core_, cross_, init, std::move(options), place));
  }

  /// Makes the variables that `variable` makes in the scope replica-local, read by `op` (SEM-47).
  VariableScope replica_local_variable_scope(ReduceOp op, CallSite site = CallSite::here()) {
    return VariableScope(core_, cross_, {.replica_local = aggregation_of(op, site)}, site);
  }
  /// Places the variables made in the scope on the devices of `other` alone.
  /// Throws: ContextError (kOtherStrategy) for a variable of another strategy.
  template <class T>
  VariableScope colocate_variables_with(const VariableHandle<T>& other,
                                        CallSite site = CallSite::here()) {
    const detail::VariableInfo& info = other.state(site).info;
    detail::require_owner(core_, info, site);
    return VariableScope(core_, cross_, {.places = info.places}, site);
  }
  /// Places the variables made in the scope on these devices of the strategy, in any order.
  /// Throws: InvalidArgumentError (kDestination) for a device of no replica, (kNoDevices),
  /// (kDuplicateDevice).
  VariableScope colocate_variables_with(const std::vector<DeviceSpec>& devices,
                                        CallSite site = CallSite::here()) {
    return VariableScope(core_, cross_, {.places = detail::places_on(core_, devices, site)}, site);
  }
  /// Whether `variable` is this strategy's, in any context.
  /// Throws: InvalidArgumentError (kVariableEmpty).
  template <class T>
  bool created_in_scope(const VariableHandle<T>& variable, CallSite site = CallSite::here()) {
    return variable.state(site).info.owner == &core_;
  }

  /// The value of a variable: component 0 of a mirrored variable, the reduction of the components
  /// of a replica-local variable (SEM-46, SEM-51).
  /// Order: the reduction is enqueued for tensors. The host blocks only if the backend compares
  /// components of mirrored variables first.
  /// Throws:
  /// - VariableMismatchError (kMirroredDiverged): compared components of a mirrored variable
  ///   differ;
  /// - UnsupportedError (kUnsupported): the components have no reduction;
  /// - the errors of CrossReplicaContext::reduce.
  using StrategyVerbs<Strategy>::read;
  template <class T>
  T read(const VariableHandle<T>& variable, CallSite site = CallSite::here()) {
    core_.require_cross("read", site);
    return detail::read_variable(core_, variable, site);
  }
  /// Copies of all components, by replica; tensors share storage until written (SEM-46).
  template <class V>
  auto local_values(const V& variable, CallSite site = CallSite::here()) {
    core_.require_cross("local_values", site);
    return detail::components_of(core_, variable, site);
  }

  /// Calls `fn()` and returns its result; if `fn` throws, gives every variable that existed before
  /// its former components back, also if replicas wrote them (SEM-59).
  /// Order: copies all host values first; tensors share storage until written. Over several
  /// processes the host blocks until `fn` has ended in all.
  /// Throws:
  /// - exceptions of `fn`;
  /// - PeerFailedError (kPeerFailed): `fn` threw in another process alone (SEM-236).
  template <class F>
  auto transaction(const F& fn, CallSite site = CallSite::here()) {
    core_.require_cross("transaction", site);
    return detail::transact(core_, fn, site);
  }

  /// Sets the order and the algorithm of reductions, and whether names are required. The options
  /// name the same devices as before, or none (SEM-126). All processes configure their strategies.
  /// Throws:
  /// - InvalidArgumentError (kInvalidArgument): other devices, or options that differ between
  ///   processes;
  /// - ContextError (kStrategyBusy): while the strategy runs;
  /// - the errors of the constructor.
  void configure(const StrategyOptions& options, CallSite site = CallSite::here());

  /// The report of the last failed run, also for an exception of the user's; none if memory ran out
  /// (SEM-144).
  const std::optional<ErrorReport>& last_failure() { return core_.last_failure(); }
  StrategyStatistics statistics() { return detail::statistics_of(core_); }  ///< Counters.

 protected:
  /// A replica on each device in the options; without devices there, on every device of the
  /// backend.
  /// Throws:
  /// - InvalidArgumentError (kDuplicateDevice, kUnknownDevice): for the devices;
  /// - InvalidArgumentError (kInvalidArgument): for an invalid order, or an order that the
  ///   algorithm of reductions cannot have.
  Strategy(Backend& backend, const StrategyOptions& options, CallSite site);

  // The hooks of every strategy of belfry: a component on each replica's device; the initialiser
  // for component 0, and copies; every component in order; the CrossDeviceOps of the options; a
  // copy to each target; `carry_out()`.
  VariablePlaces do_place(Synchronization kind) const override;
  void do_initialise(ComponentWork& variable) override;
  void do_update(ComponentWork& update) override;
  void do_reduce(const ReduceCall& call) override;
  std::vector<AnyTensor> do_broadcast(const AnyTensor& source,
                                      std::span<const Placement> targets) override;
  void do_run(StrategyStep& replicas) override;
  void do_merge(StrategyStep& merge) override;

  /// The index in the backend of each replica's device.
  const std::vector<int>& replica_devices() const { return core_.devices(); }

 private:
  detail::StrategyCore core_;
  CrossReplicaContext cross_;
};

}  // namespace belfry
