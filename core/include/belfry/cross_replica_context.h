// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/axis_verbs.h"
#include "belfry/detail/batch_reduce_pairs.h"
#include "belfry/detail/batch_reduce_verbs.h"
#include "belfry/detail/custom_reduction.h"
#include "belfry/detail/destination_verbs.h"
#include "belfry/detail/distribute.h"
#include "belfry/detail/map_elements.h"
#include "belfry/detail/map_verbs.h"
#include "belfry/detail/mirror.h"
#include "belfry/detail/reduce_values.h"
#include "belfry/detail/run_verbs.h"
#include "belfry/detail/split_total.h"
#include "belfry/detail/update_components.h"
#include "belfry/detail/update_each_verbs.h"
#include "belfry/detail/update_non_slot_verbs.h"
#include "belfry/detail/update_verbs.h"
#include "belfry/detail/variable_merge.h"
#include "belfry/distributed_values.h"
#include "belfry/mean_only.h"
#include "belfry/tensor.h"

#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry {

/// What code outside the replicas may do: in merge_fn, and between runs through
/// `Strategy::cross_replica()`. Every verb throws ContextError (kWrongContext, kOtherStrategy) when
/// it is reached from inside a replica or another strategy (SEM-14); InvalidArgumentError
/// (kVariableEmpty) for a handle that names no variable, (kForeignObject) for tensors of another
/// backend; DeviceError (kOutOfMemory) without room for tensors it makes or copies;
/// UnsupportedError (kUnsupported) for what devices cannot do; StrategyError (kStrategyContract)
/// where a user's strategy does not keep its part.
class CrossReplicaContext : public detail::RunVerbs<CrossReplicaContext>,
                            public detail::UpdateVerbs<CrossReplicaContext>,
                            public detail::UpdateNonSlotVerbs<CrossReplicaContext>,
                            public detail::UpdateEachVerbs<CrossReplicaContext>,
                            public detail::BatchReduceVerbs<CrossReplicaContext>,
                            public detail::MapVerbs<CrossReplicaContext>,
                            public detail::DestinationVerbs<CrossReplicaContext>,
                            public detail::AxisVerbs<CrossReplicaContext> {
 public:
  CrossReplicaContext(const CrossReplicaContext&) = delete;
  CrossReplicaContext& operator=(const CrossReplicaContext&) = delete;

  int num_replicas() const { return core_.size(); }
  Strategy& strategy() const { return core_.owner(); }
  /// The devices of the replicas, in replica order.
  std::vector<DeviceSpec> devices() const;

  /// Runs `fn(ReplicaContext&, component of each argument...)` on every replica; see Strategy::run.
  using RunVerbs<CrossReplicaContext>::run;
  template <class F, class... Args>
  auto run(RunOptions options, const F& fn, const Args&... args) {
    return detail::distribute(core_, *this, options, fn, args...);
  }
  template <class F, class... Args>
  auto run_at(CallSite site, const F& fn, const Args&... args) {
    return detail::distribute(core_, *this, RunOptions{.concurrent = true, .site = site}, fn,
                              args...);
  }

  /// The reduction over all replicas, the same on each (SEM-30 to SEM-36; SEM-120 and SEM-122).
  /// Order: host leaves at once; tensors are enqueued on communication streams, between what made
  /// them and later work of compute streams; the host does not block.
  /// Throws: StructureMismatchError (kStructure); InvalidArgumentError (kIntegerMean), (kDType) for
  /// bool, (kInvalidArgument) for another number of replicas or a default-constructed tensor.
  using DestinationVerbs<CrossReplicaContext>::reduce;
  using AxisVerbs<CrossReplicaContext>::reduce;
  template <Nest T>
  Mirrored<T> reduce(ReduceOp op, const PerReplica<T>& value, CallSite site = CallSite::here()) {
    core_.require_cross("reduce", site);
    detail::require_replicas(core_, value.size(), site);
    return detail::reduce_value(core_, op, value, site);
  }
  /// The same by a reduction of the user's, on replica 0's device; the result on every replica
  /// (SEM-38). Order: as the reduction; copies of tensors are enqueued. Throws: what the reduction
  /// throws; StructureMismatchError; InvalidArgumentError (kInvalidArgument) as above.
  template <class R, class T>
    requires Reduction<R, T>
  Mirrored<ReductionResult<R, T>> reduce(const R& reduction, const PerReplica<T>& value,
                                         CallSite site = CallSite::here()) {
    core_.require_cross("reduce", site);
    detail::require_replicas(core_, value.size(), site);
    return detail::mirror(core_, detail::fold_values(core_, reduction, value, site));
  }
  /// MEAN of a value that all replicas share is that value; SUM of it does not compile (SEM-34).
  template <class T>
  Mirrored<T> reduce(MeanOnly, const Mirrored<T>& value, CallSite site = CallSite::here()) {
    core_.require_cross("reduce", site);
    detail::require_replicas(core_, value.size(), site);
    return value;
  }
  /// `batch_reduce(op, values...)`: a tuple of the reductions of each, in order. A value may come
  /// as a `std::pair` with its destination, and is a MirroredOn then; a `std::vector` of pairs of
  /// one type gives a vector. All destinations are looked at before anything is reduced.
  /// detail::BatchReduceVerbs has its order and errors.
  using BatchReduceVerbs<CrossReplicaContext>::batch_reduce;
  template <class... V>
  auto batch_reduce_at(CallSite site, ReduceOp op, const V&... values) {
    core_.require_cross("batch_reduce", site);
    return detail::batch_reduce(core_, op, site, values...);
  }

  /// The value on every replica; tensors are copied to each device (SEM-114). Order: copies are
  /// enqueued on compute streams.
  /// Throws: InvalidArgumentError (kInvalidArgument) for a default-constructed tensor.
  using DestinationVerbs<CrossReplicaContext>::broadcast;
  template <class T>
  Mirrored<T> broadcast(const T& value, CallSite site = CallSite::here()) {
    core_.require_cross("broadcast", site);
    return detail::mirror(core_, value);
  }

  /// `update(variable, fn, args...)` calls `fn(component, args...)` once for each component, on its
  /// device; Mirrored arguments and variables give the component that lives there (SEM-41). All or
  /// nothing: when one call throws, no component changes. Returns what fn returns, mirrored.
  /// detail::UpdateVerbs has its order and errors.
  using UpdateVerbs<CrossReplicaContext>::update;
  template <class V, class F, class... Args>
  auto update_at(CallSite site, const V& variable, const F& fn, const Args&... args) {
    static_assert(!(detail::HoldsPerReplica<Args>::value || ...),
                  "update takes Mirrored or plain arguments: reduce a PerReplica first");
    core_.require_change("update", site);
    return detail::update_components(core_, *this, site, variable, fn, args...);
  }

  /// The same, but returns what each call returned, in the order of the components.
  using UpdateEachVerbs<CrossReplicaContext>::update_each;
  template <class V, class F, class... Args>
  auto update_each_at(CallSite site, const V& variable, const F& fn, const Args&... args) {
    static_assert(!(detail::HoldsPerReplica<Args>::value || ...),
                  "update takes Mirrored or plain arguments: reduce a PerReplica first");
    core_.require_change("update_each", site);
    return detail::update_each_component(core_, *this, site, variable, fn, args...);
  }

  /// `update_non_slot(devices, fn, args...)` calls `fn(args...)` once on each of `devices`, with
  /// arguments as update gives them, and returns what fn returns there (SEM-41).
  /// detail::UpdateNonSlotVerbs has its order and errors.
  using UpdateNonSlotVerbs<CrossReplicaContext>::update_non_slot;
  template <class F, class... Args>
  auto update_non_slot_at(CallSite site, const std::vector<DeviceSpec>& devices, const F& fn,
                          const Args&... args) {
    core_.require_cross("update_non_slot", site);
    return detail::update_devices(core_, *this, site, devices, fn, args...);
  }

  /// Gives every component of a replica-local variable this value: a sum is then as many times it
  /// as there are components (SEM-57). Order: copies of tensors are enqueued. Throws: ContextError
  /// (kOtherStrategy), also (kWrongContext) inside an update (SEM-41).
  template <class T>
  void assign_each(const ReplicaLocalVariable<T>& variable, const std::type_identity_t<T>& value,
                   CallSite site = CallSite::here()) {
    detail::VariableState<T>& state = assigned(variable, "assign_each", site);
    detail::put_components(core_, state, detail::value_for_each(core_, state.info, value));
  }
  /// Makes the sum that a replica-local variable is read as this total (SEM-57).
  /// Order: blocks the host to divide tensors. Throws: as assign_each; InvalidArgumentError
  /// (kInvalidArgument) for one that is not read as a sum or no SumSplit, (kDType) for bool.
  template <Nest T>
  void assign_total(const ReplicaLocalVariable<T>& variable, const std::type_identity_t<T>& total,
                    SumSplit split = SumSplit::kFirst, CallSite site = CallSite::here()) {
    detail::VariableState<T>& state = assigned(variable, "assign_total", site);
    detail::require_sum(state.info, site);
    detail::require_split(split, site);
    detail::put_components(core_, state,
                           detail::split_total(core_, state.info, total, split, site));
  }

  /// `map(elements, fn, args...)` calls `fn(element, args...)` for element k on replica k mod N's
  /// device, with arguments as update gives them; every replica has a list, maybe empty (SEM-123).
  /// detail::MapVerbs has its order and errors.
  using MapVerbs<CrossReplicaContext>::map;
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

template <class R, class T>
  requires Reduction<R, T>
ReductionResult<R, T> ReplicaContext::all_reduce(const R& reduction, T value,
                                                 detail::MergePlace place) {
  const auto merge = [&](CrossReplicaContext& cross, const PerReplica<T>& values) {
    return cross.reduce(reduction, values, place.site);
  };
  return merge_at<detail::MergeKind::kAllReduce>(place, nullptr, merge, std::move(value));
}

template <Nest T>
T ReplicaContext::all_gather(T value, Axis axis, detail::MergePlace place) {
  const auto merge = [site = place.site](CrossReplicaContext& cross, const PerReplica<T>& values,
                                         const PerReplica<int>& axes) {
    detail::require_same_axis(axes, site);
    return detail::all_gather_value(cross.core(), values, Axis(*axes.begin()), site);
  };
  return merge_at<detail::MergeKind::kAllGather>(place, nullptr, merge, std::move(value),
                                                 axis.value);
}

template <class T, class V>
void ReplicaContext::assign_merged(const MirroredVariable<T>& variable, detail::AssignOp op,
                                   V value, detail::MergePlace place) {
  detail::VariableState<T>& state = variable.state(place.site);
  detail::require_aggregation(*this, state.info, place.site);
  const auto change = [&variable, op, aggregation = state.info.aggregation, site = place.site](
                          CrossReplicaContext& cross, const PerReplica<T>& values) {
    const auto set = [op, site](T& component, const T& delta) {
      detail::apply_assign(op, component, delta, site);
    };
    if (aggregation == Aggregation::kOnlyFirst) {
      cross.update(variable, set, cross.broadcast(*values.begin(), site), site);
    } else {
      const ReduceOp reduce = aggregation == Aggregation::kSum ? ReduceOp::kSum : ReduceOp::kMean;
      cross.update(variable, set, cross.reduce(reduce, values, site), site);
    }
  };
  // Replicas must agree on the variable and on what they do to it: one address for each pair.
  const void* identity = reinterpret_cast<const char*>(&state) + static_cast<int>(op);
  merge_at<detail::MergeKind::kAssign>(
      place, identity, detail::VariableMerge{change, op, state.info}, T(std::move(value)));
}

}  // namespace belfry
