// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/current.h"
#include "belfry/destination.h"
#include "belfry/distributed_values.h"
#include "belfry/nest.h"
#include "belfry/strategies.h"
#include "belfry/tower/call.h"
#include "belfry/tower/values.h"
#include "belfry/tower/variables.h"
#include "belfry/variable.h"

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

/// The names of TensorFlow 1 and 2 and of TF-Scala for programs that are moved to belfry; a tower
/// is a replica.
///
///     tower::call_for_each_tower(strategy, [](tower::TowerContext& tower) {
///       const double sum = tower::all_reduce(tower, "sum", 1.0);
///     });
///
/// Every name of earlier systems is an alias or a function here; docs/tf_mapping.md lists the
/// names, with the functions of belfry that have the behaviour and the errors. Functions take a
/// strategy, or the context of the function, first, and reductions by name or as a ReduceOp.
/// `InTower`, `CrossTower`, `OfStrategy` and `Around` stand for the contexts.
namespace belfry::tower {

// Types.
using DistributionStrategy = belfry::Strategy;
using Strategy = belfry::Strategy;
using StrategyExtended = belfry::CrossReplicaContext;
using MirroredStrategy = belfry::MirroredStrategy;
using OneDeviceStrategy = belfry::OneDeviceStrategy;
using DefaultStrategy = belfry::DefaultStrategy;
using TowerContext = belfry::ReplicaContext;
using InTowerContext = belfry::ReplicaContext;
using ReplicaContext = belfry::ReplicaContext;
using CrossTowerContext = belfry::CrossReplicaContext;
using DeviceSpecification = belfry::DeviceSpec;
using Reduction = belfry::ReduceOp;
inline constexpr Reduction kSumReduction = ReduceOp::kSum;
inline constexpr Reduction kMeanReduction = ReduceOp::kMean;
template <class D>
concept Destination = belfry::Destination<D>;

// The current context and device (SEM-16).
inline TowerContext* get_tower_context() { return current_replica(); }
inline ReplicaContext* get_replica_context() { return current_replica(); }
inline CrossTowerContext* get_cross_tower_context() { return current_cross_replica(); }
inline Strategy& get_strategy() { return belfry::current_strategy(); }
inline Strategy& get_distribution_strategy() { return belfry::current_strategy(); }
inline Strategy& current_strategy() { return belfry::current_strategy(); }
inline std::string current_device() { return to_string(belfry::current_device()); }
inline std::optional<std::string> current_update_device() {
  const std::optional<DeviceSpec> device = belfry::current_update_device();
  return device ? std::optional(to_string(*device)) : std::nullopt;
}

// Properties of a tower's context.
inline int tower_id(const TowerContext& tower) { return tower.replica_id(); }
inline int replica_id_in_sync_group(const ReplicaContext& replica) { return replica.replica_id(); }
inline std::string device(const TowerContext& tower) { return to_string(tower.device()); }
inline std::vector<std::string> devices(const ReplicaContext& replica) { return {device(replica)}; }

// Properties of a context.
template <class Context>
Strategy& distribution_strategy(const Context& context) {
  return context.strategy();
}
template <class Context>
Strategy& strategy(const Context& context) {
  return context.strategy();
}

// Properties of a context or a strategy.
inline int num_towers(OfStrategy of) { return of.strategy.num_replicas(); }
inline int num_replicas_in_sync(OfStrategy of) { return of.strategy.num_replicas(); }
inline bool is_single_tower(OfStrategy of) { return of.strategy.num_replicas() == 1; }
inline std::vector<DeviceSpec> worker_devices(OfStrategy of) {
  return of.strategy.worker_devices();
}
inline std::vector<DeviceSpec> parameter_devices(OfStrategy of) {
  return of.strategy.parameter_devices();
}
inline PerReplica<int> worker_device_index(OfStrategy of) {
  return of.strategy.worker_device_index();
}
/// Whether each process of a group has a program of its own.
inline bool between_graph(OfStrategy of) {
  return dynamic_cast<const MultiWorkerMirroredStrategy*>(&of.strategy) != nullptr;
}

/// Finds the configuration of the strategy. Options that `session_config` leaves out keep the
/// values named when the strategy was made or configured; checks stay on.
void configure(Strategy& of, StrategyOptions session_config = {}, CallSite site = CallSite::here());

// Running: fn(TowerContext&, args...), or fn(args...), which asks get_tower_context for the
// context.
template <class F, class... Args>
auto call_for_each_tower(CrossTower at, const F& fn, const Args&... args) {
  return detail::run_in_towers(at, true, fn, args...);
}
/// `run_concurrently` as a keyword: `call_for_each_tower(strategy, RunOptions{...}, fn, args...)`.
template <class F, class... Args>
auto call_for_each_tower(CrossTower at, RunOptions run_concurrently, const F& fn,
                         const Args&... args) {
  return detail::run_in_towers(at, run_concurrently.concurrent, fn, args...);
}
template <class F, class... Args>
auto call_for_each_replica(CrossTower at, const F& fn, const Args&... args) {
  return detail::run_in_towers(at, true, fn, args...);
}
template <class F, class... Args>
auto run(CrossTower at, const F& fn, const Args&... args) {
  return detail::run_in_towers(at, true, fn, args...);
}
template <class F, class... Args>
auto experimental_run_v2(CrossTower at, const F& fn, const Args&... args) {
  return detail::run_in_towers(at, true, fn, args...);
}
template <class F, class... Args>
auto for_each_tower(CrossTower at, const F& fn, const Args&... args) {
  return detail::run_in_towers(at, true, fn, args...);
}

// In a tower. A tag may name the merge (SEM-132). The function is called as
// merge_fn(DistributionStrategy&, const PerDevice<A>&...), or with a CrossTowerContext& first.
template <belfry::detail::FirstWithoutSite<belfry::detail::calls::MergeCall> F, class... Args>
auto merge_call(InTower at, F&& merge_fn, Args&&... args) {
  return belfry::detail::calls::MergeCall::at(at.replica, at.site, std::forward<F>(merge_fn),
                                              std::forward<Args>(args)...);
}
template <class F, class... Args>
auto merge_call(InTower at, const MergeTag& tag, F&& merge_fn, Args&&... args) {
  return belfry::detail::calls::MergeCall::at(at.replica, tag, std::forward<F>(merge_fn),
                                              std::forward<Args>(args)...);
}
template <Nest T>
T all_reduce(InTower at, Method reduce_op, T value) {
  return at.replica.all_reduce(reduce_op.op, std::move(value), at.site);
}
template <Nest T>
T all_reduce(InTower at, const MergeTag& tag, Method reduce_op, T value) {
  return at.replica.all_reduce(tag, reduce_op.op, std::move(value));
}

}  // namespace belfry::tower

#include "belfry/tower/input.h"
#include "belfry/tower/verbs.h"
