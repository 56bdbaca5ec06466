// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/aggregation.h"
#include "belfry/axis.h"
#include "belfry/detail/all_reduce_request.h"
#include "belfry/detail/merge_place.h"
#include "belfry/detail/merge_point.h"
#include "belfry/detail/merge_request.h"
#include "belfry/detail/mirror.h"
#include "belfry/detail/verb.h"
#include "belfry/nest.h"
#include "belfry/placement.h"
#include "belfry/reduce_op.h"
#include "belfry/reduction.h"
#include "belfry/run_options.h"
#include "belfry/variable.h"

#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry {

namespace detail {
class ReplicaRunner;
struct DefaultContext;
}  // namespace detail

/// What a replica function may do. One for each replica and run, made by the runner, valid inside
/// the function alone (SEM-14).
/// Merges throw ContextError (kMergeNested) through a context that is not current, and come out of
/// `run` as MergeMismatchError (kMergeMissing, kMergePlaces, kMergeKinds, kMergeTypes) when
/// replicas do not meet (SEM-5), and kMergeUnnamed if the strategy requires names (SEM-133). Every
/// verb that merges takes a MergeTag as its first argument, too (SEM-132). What comes out of `run`
/// reaches the replicas as ReplicaCancelled (SEM-7), as it does at later calls in a run that has
/// failed. The default strategy's replica, whose merges are executed where they are called
/// (SEM-16), gets there what others get from `run`.
class ReplicaContext {
 public:
  ReplicaContext(const ReplicaContext&) = delete;
  ReplicaContext& operator=(const ReplicaContext&) = delete;

  /// This replica's number, from 0 to num_replicas() - 1.
  int replica_id() const { return id_; }
  int num_replicas() const { return merges_.core().size(); }
  /// The device this replica runs on, where its tensors are made.
  DeviceSpec device() const;
  Placement placement() const { return merges_.core().placement(id_); }
  Strategy& strategy() const { return merges_.core().owner(); }

  /// Pauses until every replica has arrived here, then runs `merge_fn(CrossReplicaContext&, const
  /// PerReplica<A>&...)` once, and returns its result: the component of a PerReplica or Mirrored
  /// (through nests), a copy of anything else, nothing for void (SEM-2 to SEM-9, SEM-13). Lvalue
  /// arguments are copied into the merge, rvalues moved.
  /// Order: the host blocks until all replicas have arrived and merge_fn has returned; device work
  /// that merge_fn enqueued may still be running.
  /// Throws, from `run`: what merge_fn throws; MergeMismatchError; InvalidArgumentError
  /// (kInvalidArgument) for a result of another number of replicas, or that lacks a component
  /// (SEM-90).
  /// `merge_call(fn, args...)`, `merge_call(tag, fn, args...)`; merge_call_at takes a wrapper's
  /// call site.
  detail::Verb<ReplicaContext, detail::calls::MergeCall> merge_call{*this};
  template <class F, class... Args>
  auto merge_call_at(detail::MergePlace place, F&& fn, Args&&... args) {
    const std::decay_t<F>& function = fn;
    return merge_at<detail::MergeKind::kMergeCall>(place, nullptr, function,
                                                   std::forward<Args>(args)...);
  }

  /// The reduction of every leaf of `value` over all replicas, in the structure of `value`; tensors
  /// on this replica's device (SEM-30 to SEM-36).
  /// Order: a merge, for which the host waits; tensors are reduced on communication streams,
  /// between what made them and later work of compute streams, and the host does not wait for that.
  /// Throws, from `run`: MergeMismatchError; StructureMismatchError (kStructure) also when replicas
  /// name different operators; InvalidArgumentError (kIntegerMean), (kDType) for bool,
  /// (kInvalidArgument) for no ReduceOp or a default-constructed tensor; DeviceError
  /// (kOutOfMemory).
  template <Nest T>
  T all_reduce(ReduceOp op, T value, detail::MergePlace place = CallSite::here()) {
    merges_.note(id_, value);
    detail::AllReduceRequest request(detail::kAllReduceType<T>, place, op, value);
    merges_.meet(id_, request);
    merges_.note(id_, value);
    return value;
  }

  /// The same by a reduction of the user's; replica 0's reduction is used (SEM-38).
  /// Order: a merge; the values are brought to replica 0's device, folded there, and the result is
  /// copied to every replica's; copies are enqueued.
  /// Throws, from `run`: what the reduction throws; MergeMismatchError; StructureMismatchError
  /// (kStructure); DeviceError (kOutOfMemory).
  template <class R, class T>
    requires Reduction<R, T>
  ReductionResult<R, T> all_reduce(const R& reduction, T value,
                                   detail::MergePlace place = CallSite::here());
  /// Either, named by the tag.
  template <class... A>
  auto all_reduce(const MergeTag& tag, A&&... op_and_value) {
    return all_reduce(std::forward<A>(op_and_value)..., detail::MergePlace(tag));
  }

  /// The values of all replicas one after another along `axis`, in replica order, leaf by leaf;
  /// extents may differ along that axis alone. Tensors come to this replica's device (SEM-121).
  /// Order: a merge; copies and collectives are enqueued.
  /// Throws, from `run`: MergeMismatchError; StructureMismatchError (kStructure) for other
  /// differences, also of the axes named; InvalidArgumentError (kShape) for an axis that is not
  /// there, (kInvalidArgument) for a default-constructed tensor; DeviceError (kOutOfMemory).
  template <Nest T>
  T all_gather(T value, Axis axis, detail::MergePlace place = CallSite::here());
  template <Nest T>
  T all_gather(T value, detail::MergePlace place = CallSite::here()) {
    return all_gather(std::move(value), Axis(0), place);
  }
  template <class T>
  T all_gather(const MergeTag& tag, T value, Axis axis = Axis(0)) {
    return all_gather(std::move(value), axis, tag);
  }

  /// Sets, adds to or subtracts from a variable. A replica-local variable changes on this replica
  /// alone. For a mirrored one this is a merge: the values of all replicas are combined by the
  /// variable's aggregation and every component changes alike (SEM-45).
  /// Order: of a replica-local variable, tensors are enqueued on this replica's device and the host
  /// does not block; of a mirrored one, a merge.
  /// Throws: ContextError (kOtherStrategy), (kWrongContext) for a replica-local variable where this
  /// context is not current; InvalidArgumentError (kVariableEmpty), (kNoAggregation) for a mirrored
  /// one without, (kDestination) for a replica-local one with no component here; of adding and
  /// subtracting, StructureMismatchError (kStructure) for a value of another structure than the
  /// variable's and InvalidArgumentError (kDType) for types without sums; DeviceError
  /// (kOutOfMemory). For a mirrored one, from `run`, also MergeMismatchError (kMergePlaces when
  /// replicas change different variables, or in different ways), and StructureMismatchError when
  /// they bring different structures.
  template <class T, class V>
  void assign(const MirroredVariable<T>& variable, V value,
              detail::MergePlace place = CallSite::here()) {
    assign_merged(variable, detail::AssignOp::kSet, std::move(value), place);
  }
  template <class T, class V>
  void assign_add(const MirroredVariable<T>& variable, V value,
                  detail::MergePlace place = CallSite::here()) {
    assign_merged(variable, detail::AssignOp::kAdd, std::move(value), place);
  }
  template <class T, class V>
  void assign_sub(const MirroredVariable<T>& variable, V value,
                  detail::MergePlace place = CallSite::here()) {
    assign_merged(variable, detail::AssignOp::kSubtract, std::move(value), place);
  }
  template <class T, class V>
  void assign(const ReplicaLocalVariable<T>& variable, V value,
              detail::MergePlace place = CallSite::here()) {
    T own(std::move(value));
    detail::bring_to(own, placement());
    assign_own(variable, detail::AssignOp::kSet, std::move(own), place.site);
  }
  template <class T, class V>
  void assign_add(const ReplicaLocalVariable<T>& variable, V value,
                  detail::MergePlace place = CallSite::here()) {
    assign_own(variable, detail::AssignOp::kAdd, T(std::move(value)), place.site);
  }
  template <class T, class V>
  void assign_sub(const ReplicaLocalVariable<T>& variable, V value,
                  detail::MergePlace place = CallSite::here()) {
    assign_own(variable, detail::AssignOp::kSubtract, T(std::move(value)), place.site);
  }

  template <class T, class V>
  void assign(const Variable<T>& variable, V value, detail::MergePlace place = CallSite::here()) {
    variable.visit([&](const auto& kind) { assign(kind, std::move(value), place); }, place.site);
  }
  template <class T, class V>
  void assign_add(const Variable<T>& variable, V value,
                  detail::MergePlace place = CallSite::here()) {
    variable.visit([&](const auto& kind) { assign_add(kind, std::move(value), place); },
                   place.site);
  }
  template <class T, class V>
  void assign_sub(const Variable<T>& variable, V value,
                  detail::MergePlace place = CallSite::here()) {
    variable.visit([&](const auto& kind) { assign_sub(kind, std::move(value), place); },
                   place.site);
  }

  /// The assignment of a replica-local variable is no merge, and its tag has no effect.
  template <class V, class T>
  void assign(const MergeTag& tag, const V& variable, T value) {
    assign(variable, std::move(value), tag);
  }
  template <class V, class T>
  void assign_add(const MergeTag& tag, const V& variable, T value) {
    assign_add(variable, std::move(value), tag);
  }
  template <class V, class T>
  void assign_sub(const MergeTag& tag, const V& variable, T value) {
    assign_sub(variable, std::move(value), tag);
  }

  /// For the handles of variables.
  detail::MergePoint& merges() const { return merges_; }

 private:
  friend class detail::ReplicaRunner;
  friend struct detail::DefaultContext;
  ReplicaContext(detail::MergePoint& merges, int replica) : merges_(merges), id_(replica) {}

  template <class T, class V>
  void assign_merged(const MirroredVariable<T>& variable, detail::AssignOp op, V value,
                     detail::MergePlace place);
  template <class T>
  void assign_own(const ReplicaLocalVariable<T>& variable, detail::AssignOp op, T value,
                  CallSite site) {
    detail::apply_assign(op, variable.on(*this, site), std::move(value), site);
  }

  template <detail::MergeKind Kind, class F, class... Args>
  auto merge_at(detail::MergePlace place, const void* identity, const F& fn, Args&&... args) {
    using Request = detail::MergeCall<Kind, F, Args...>;
    merges_.note(id_, args...);
    Request request(place, fn, args...);
    if (identity != nullptr) request.identity = identity;
    merges_.meet(id_, request);
    if constexpr (!Request::kVoid) {
      merges_.note(id_, *request.result);
      return std::move(*request.result);
    }
  }

  detail::MergePoint& merges_;
  int id_;
};

}  // namespace belfry
