// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/all_reduce_request.h"
#include "belfry/detail/assign_verbs.h"
#include "belfry/detail/merge_point.h"
#include "belfry/detail/merge_request.h"
#include "belfry/detail/mirror.h"
#include "belfry/detail/misplaced_verbs.h"
#include "belfry/detail/strategy/run_options.h"
#include "belfry/detail/variable/aggregation.h"
#include "belfry/detail/verb.h"
#include "belfry/nest.h"
#include "belfry/reduce_op.h"
#include "belfry/reduction.h"
#include "belfry/shape.h"
#include "belfry/tensor.h"
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

/// The verbs of a replica function. The runner makes one context for each replica of a run; a
/// context is valid inside the replica function only (SEM-14). Every verb that merges also takes a
/// MergeTag as its first argument (SEM-132). Errors of every merge:
/// - A merge through a context that is not current throws ContextError (kMergeNested).
/// - If replicas do not meet, `run` throws MergeMismatchError (kMergeMissing, kMergePlaces,
///   kMergeKinds, kMergeTypes; SEM-5), or kMergeUnnamed if the strategy requires names (SEM-133).
/// - If the run fails, pending merges and later calls throw ReplicaCancelled in each replica, and
///   `run` throws the cause (SEM-7). The default strategy has no run: its merges are executed at
///   the call and throw the cause directly (SEM-16).
class ReplicaContext : public detail::AssignVerbs<ReplicaContext>, public detail::NotOnReplicas {
 public:
  ReplicaContext(const ReplicaContext&) = delete;
  ReplicaContext& operator=(const ReplicaContext&) = delete;

  /// This replica's number, from 0 to num_replicas() - 1.
  int replica_id() const { return id_; }
  /// The number of replicas, in all processes.
  int num_replicas() const { return merges_.core().size(); }
  /// The device of this replica; the replica's tensors are made there.
  DeviceSpec device() const;
  /// The location of this replica's tensors.
  Placement placement() const { return merges_.core().placement(id_); }
  Strategy& strategy() const { return merges_.core().owner(); }  ///< The strategy of the run.

  /// `merge_call(merge_fn, args...)` or `merge_call(tag, merge_fn, args...)`: waits until every
  /// replica has arrived here, calls `merge_fn(CrossReplicaContext&, const PerReplica<A>&...)`
  /// once, and returns the result: the component of a PerReplica or Mirrored (through nests), a
  /// copy of any other value, nothing for void (SEM-2 to SEM-9, SEM-13). A merge_fn that takes
  /// `Strategy&` first gets the strategy in place of the context. Lvalue arguments are copied into
  /// the merge, rvalues moved. merge_call_at takes the call site of a wrapper.
  /// Order: the host blocks until all replicas have arrived and merge_fn has returned; device work
  /// that merge_fn enqueued may still be running.
  /// Throws, from `run`: exceptions of merge_fn; MergeMismatchError; InvalidArgumentError
  /// (kInvalidArgument) for a result of another number of replicas, or without a component for a
  /// participating replica (SEM-90).
  detail::Verb<ReplicaContext, detail::calls::MergeCall> merge_call{*this};
  template <class F, class... Args>
  auto merge_call_at(detail::MergePlace place, F&& fn, Args&&... args) {
    const std::decay_t<F>& function = fn;
    return merge_at<detail::MergeKind::kMergeCall>(place, nullptr, function,
                                                   std::forward<Args>(args)...);
  }

  /// The reduction of every leaf of `value` over all replicas, in the structure of `value`; tensors
  /// on this replica's device (SEM-30 to SEM-36).
  /// Order: a merge; the host waits for the other replicas. Tensors are reduced on communication
  /// streams, after the work that made them and before later work of compute streams; the host does
  /// not wait for the reduction.
  /// Throws, from `run`: MergeMismatchError; StructureMismatchError (kStructure), also if replicas
  /// name different operators; InvalidArgumentError (kIntegerMean), (kDType) for bool,
  /// (kInvalidArgument) for an invalid ReduceOp or a default-constructed tensor; DeviceError
  /// (kOutOfMemory).
  template <class T>
  T all_reduce(ReduceOp op, T value, detail::MergePlace place = CallSite::here()) {
    if constexpr (detail::require_nest<T>()) {
      merges_.note(id_, value);
      detail::AllReduceRequest request(detail::kAllReduceType<T>, place, op, value);
      merges_.meet(id_, request);
      merges_.note(id_, value);
    }
    return value;
  }

  /// The same by a user-defined reduction; replica 0's reduction is used (SEM-38).
  /// Order: a merge; the values are copied to replica 0's device and folded there, and the result
  /// is copied to the device of every replica; copies are enqueued.
  /// Throws, from `run`: exceptions of the reduction; MergeMismatchError; StructureMismatchError
  /// (kStructure); DeviceError (kOutOfMemory).
  template <class R, class T>
    requires Reduction<R, T>
  ReductionResult<R, T> all_reduce(const R& reduction, T value,
                                   detail::MergePlace place = CallSite::here());
  template <class R, class T>
    requires detail::NoReduction<R, T>
  detail::Refused all_reduce(const R&, const T&, detail::MergePlace = CallSite::here()) {
    return detail::refuse_reduction<R, T>();
  }
  /// Either form, with a tag.
  template <class... A>
  auto all_reduce(const MergeTag& tag, A&&... op_and_value) {
    return all_reduce(std::forward<A>(op_and_value)..., detail::MergePlace(tag));
  }

  /// The concatenation of the values of all replicas along `axis`, in replica order, leaf by leaf;
  /// extents may differ along that axis only. Tensors come to this replica's device (SEM-121).
  /// Order: a merge; copies and collectives are enqueued.
  /// Throws, from `run`: MergeMismatchError; StructureMismatchError (kStructure) for other
  /// differences, also between the axes; InvalidArgumentError (kShape) for an axis out of range,
  /// (kInvalidArgument) for a default-constructed tensor; DeviceError (kOutOfMemory).
  template <class T>
  T all_gather(T value, Axis axis, detail::MergePlace place = CallSite::here());
  template <class T>
  T all_gather(T value, detail::MergePlace place = CallSite::here()) {
    if constexpr (detail::require_nest<T>()) {
      return all_gather(std::move(value), Axis(0), place);
    } else {
      return value;
    }
  }
  /// Lists of elements without leaves: the concatenation.
  template <class T>
    requires(!Nest<std::vector<T>>)
  std::vector<T> all_gather(std::vector<T> value, detail::MergePlace place = CallSite::here());
  template <class T>
    requires(!Nest<std::vector<T>>)
  std::vector<T> all_gather(const MergeTag& tag, std::vector<T> value) {
    return all_gather(std::move(value), detail::MergePlace(tag));
  }
  template <class T>
  T all_gather(const MergeTag& tag, T value, Axis axis = Axis(0)) {
    return all_gather(std::move(value), axis, tag);
  }

  /// For the handles of variables.
  detail::MergePoint& merges() const { return merges_; }

 private:
  friend class detail::AssignVerbs<ReplicaContext>;
  friend class detail::ReplicaRunner;
  friend struct detail::DefaultContext;
  ReplicaContext(detail::MergePoint& merges, int replica) : merges_(merges), id_(replica) {}

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
