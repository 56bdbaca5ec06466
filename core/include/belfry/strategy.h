// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/cross_replica_context.h"
#include "belfry/detail/dataset/distribute_options.h"
#include "belfry/detail/dataset/input_context.h"
#include "belfry/detail/function_call.h"
#include "belfry/detail/make_variable.h"
#include "belfry/detail/misplaced_verbs.h"
#include "belfry/detail/strategy/options.h"
#include "belfry/detail/strategy/scope.h"
#include "belfry/detail/strategy_verbs.h"
#include "belfry/detail/verb.h"
#include "belfry/device_spec.h"
#include "belfry/reduction.h"
#include "belfry/replica_context.h"
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

/// Distributes work over replicas, with a replica on each of its devices. A strategy is an object
/// of a derived class, of belfry or of a user, which overrides hooks (docs/strategies.md). Not
/// copyable; outlives the last use of its variables; the backend outlives the strategy. Allows a
/// single `run` at a time: a second thread gets a ContextError (kStrategyBusy).
class Strategy : public detail::StrategyVerbs<Strategy>,
                 public detail::NotOnStrategies,
                 protected StrategyHooks {
 public:
  virtual ~Strategy();

  int num_replicas() const { return core_.size(); }  ///< The number of replicas, in all processes.
  /// The devices of this process's replicas, in replica order.
  std::vector<DeviceSpec> worker_devices() const { return devices(); }
  /// The devices of mirrored variables (SEM-110).
  std::vector<DeviceSpec> parameter_devices() const;
  /// The devices for updates of state without a variable: the devices of variables.
  std::vector<DeviceSpec> non_slot_devices() const { return parameter_devices(); }
  using StrategyVerbs<Strategy>::non_slot_devices;
  std::vector<DeviceSpec> devices() const { return cross_.devices(); }  ///< As worker_devices.
  /// Each replica's position in worker_devices().
  PerReplica<int> worker_device_index() const;
  Backend& backend() { return core_.backend(); }  ///< The backend of the devices.
  /// The placement of a replica. Throws: InvalidArgumentError (kInvalidArgument) for an invalid id.
  Placement placement(int replica, CallSite site = CallSite::here());
  /// The cross-replica context for code between runs.
  CrossReplicaContext& cross_replica() { return cross_; }

  /// Makes the cross-replica context current for a block: `const Scope scope = strategy.scope();`
  /// Throws: ContextError (kWrongContext, kOtherStrategy) inside a replica or another strategy.
  Scope scope(CallSite site = CallSite::here()) { return {core_, cross_, site}; }

  /// Calls `fn(ReplicaContext&, const A&...)` once on every replica and returns the results: a
  /// PerReplica, also for one replica; a variable is returned itself; nothing for void (SEM-1 to
  /// SEM-15). A PerReplica or Mirrored argument, also inside containers, gives each replica its
  /// component; all replicas get any other argument. `run(options, fn, args...)` takes RunOptions.
  /// Order: blocks until all replicas have ended; device work of the replicas may still be running.
  /// Throws: the exception of the failing replica with the lowest id, with its own type; for errors
  /// of belfry see CrossReplicaContext::run. The strategy stays usable; `last_failure` has the
  /// report.
  detail::Verb<CrossReplicaContext, detail::calls::Run> run{cross_};
  template <class F, class... Args>
  auto run_at(CallSite site, const F& fn, const Args&... args) {
    return cross_.run_at(site, fn, args...);
  }

  /// The steps of a dataset of global batches, each shared out over the replicas (SEM-95). Order,
  /// Throws: as DistributedDataset says. Include belfry/distributed_dataset.h.
  template <class B>
  DistributedDataset<B> distribute_dataset(const Dataset<B>& dataset,
                                           const DistributeOptions& options,
                                           CallSite site = CallSite::here());
  /// The same for the result of `fn(InputContext)`, a dataset or a function that returns the next
  /// element: each replica takes a whole element in turn (SEM-95). `fn` is called once, here.
  template <class F>
  auto distribute_datasets_from_function(const F& fn, DistributeOptions options,
                                         CallSite site = CallSite::here());
  /// A value for each replica: `fn(ValueContext)`; otherwise as distribute_values.
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
  /// Order: called in replica order, each time with the replica's device current. Throws:
  /// ContextError as `read`; exceptions of `fn`.
  template <class F>
  auto distribute_values(const F& fn, CallSite site = CallSite::here()) {
    return detail::values_for_replicas(core_, cross_, fn, site);
  }

  /// A variable with equal components. `init` is a value, or a function of no arguments that is
  /// called once, on component 0's device; the other components are copies (SEM-40). Context: any,
  /// except of another strategy; replicas make the variable together (SEM-48). Order: copies of
  /// tensors are enqueued. Throws: exceptions of `init`, and the errors of detail::make_variable.
  using StrategyVerbs<Strategy>::mirrored_variable;
  template <class Init>
  auto mirrored_variable(const Init& init, VariableOptions options = {},
                         detail::MergePlace place = CallSite::here()) {
    options.synchronization = Synchronization::kOnWrite;
    return MirroredVariable(detail::make_variable(core_, cross_, init, std::move(options), place));
  }
  /// A variable with independent components, which start equal (SEM-50) and are read as the
  /// reduction of its ReduceOp or aggregation. Never trainable. Otherwise as mirrored_variable.
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
  /// The same, read, saved and restored by a user-defined reduction (SEM-38); throws the same.
  template <class R, class Init>
    requires(!std::same_as<R, ReduceOp> && !std::same_as<R, Aggregation>)
  auto replica_local_variable(const R& reduction, const Init& init, VariableOptions options = {},
                              detail::MergePlace place = CallSite::here()) {
    return ReplicaLocalVariable(
        detail::make_reduced_variable(core_, cross_, reduction, init, std::move(options), place));
  }
  /// A variable of the kind that the options or the scopes in force select; without a selection,
  /// mirrored (SEM-47). Otherwise as the function for that kind.
  using StrategyVerbs<Strategy>::variable;
  template <class Init>
  auto variable(const Init& init, VariableOptions options = {},
                detail::MergePlace place = CallSite::here()) {
    return Variable(detail::make_variable(core_, cross_, init, std::move(options), place));
  }

  /// Variables made by `variable` in the scope are replica-local and read by `op` (SEM-47).
  VariableScope replica_local_variable_scope(ReduceOp op, CallSite site = CallSite::here()) {
    return VariableScope(core_, cross_, {.replica_local = aggregation_of(op, site)}, site);
  }
  /// Variables made in the scope have components on the devices of `other` only.
  /// Throws: ContextError (kOtherStrategy) for a variable of another strategy.
  template <class T>
  VariableScope colocate_variables_with(const VariableHandle<T>& other,
                                        CallSite site = CallSite::here()) {
    const detail::VariableInfo& info = other.state(site).info;
    detail::require_owner(core_, info, site);
    return VariableScope(core_, cross_, {.places = info.places}, site);
  }
  /// The same for devices of this strategy, in any order. Throws: InvalidArgumentError
  /// (kDestination, kNoDevices, kDuplicateDevice).
  VariableScope colocate_variables_with(const std::vector<DeviceSpec>& devices,
                                        CallSite site = CallSite::here()) {
    return VariableScope(core_, cross_, {.places = detail::places_on(core_, devices, site)}, site);
  }
  /// Whether `variable` is this strategy's. Throws: InvalidArgumentError (kVariableEmpty).
  template <class T>
  bool created_in_scope(const VariableHandle<T>& variable, CallSite site = CallSite::here()) {
    return variable.state(site).info.owner == &core_;
  }

  /// The value of a variable (SEM-46, SEM-51). Mirrored: component 0; if the backend compares
  /// components, the host waits and all are compared first. Replica-local: the reduction of its
  /// components, enqueued for tensors.
  /// Throws: ContextError (kWrongContext, kOtherStrategy); VariableMismatchError
  /// (kMirroredDiverged); UnsupportedError for components without a reduction; as
  /// CrossReplicaContext::reduce.
  template <class T>
  T read(const VariableHandle<T>& variable, CallSite site = CallSite::here()) {
    core_.require_cross("read", site);
    return detail::read_variable(core_, variable, site);
  }
  /// Copies of all components, by replica; nothing is enqueued (SEM-46). Throws: ContextError.
  template <class V>
  auto local_values(const V& variable, CallSite site = CallSite::here()) {
    core_.require_cross("local_values", site);
    return detail::components_of(core_, variable, site);
  }

  /// Calls `fn()` and returns its result. If `fn` throws, every variable that existed before gets
  /// its former components back, also if replicas wrote them (SEM-59).
  /// Order: copies all host values; tensors share storage until written. Over several processes the
  /// host waits until `fn` has ended in all. Throws: ContextError; the exceptions of `fn`;
  /// PeerFailedError (kPeerFailed) if `fn` throws in another process alone (SEM-236).
  template <class F>
  auto transaction(const F& fn, CallSite site = CallSite::here()) {
    core_.require_cross("transaction", site);
    return detail::transact(core_, fn, site);
  }

  /// Sets the order and the algorithm of reductions and whether names are required; the options
  /// name the same devices, or none (SEM-126). All processes configure their strategies.
  /// Throws: InvalidArgumentError (kInvalidArgument) for other devices, for options that differ
  /// between processes, and as the constructor; ContextError (kStrategyBusy, kWrongContext,
  /// kOtherStrategy) while the strategy runs.
  void configure(const StrategyOptions& options, CallSite site = CallSite::here());

  /// The report of the last failed run, also for a user's exception; none if memory ran out
  /// (SEM-144).
  const std::optional<ErrorReport>& last_failure() { return core_.last_failure(); }
  StrategyStatistics statistics() { return detail::statistics_of(core_); }  ///< Counters.

 protected:
  /// A replica on each device in the options; without devices there, on all of the backend.
  /// Throws: InvalidArgumentError (kDuplicateDevice, kUnknownDevice; kInvalidArgument for an
  /// invalid order, or an order that the algorithm of reductions cannot have).
  Strategy(Backend& backend, const StrategyOptions& options, CallSite site);

  // The answers: a component with each replica; the initialiser for component 0, and copies; every
  // component, in order; a reduction by the strategy's CrossDeviceOps; a copy to each target;
  // `carry_out()`.
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
