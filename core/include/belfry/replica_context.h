// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/all_reduce_request.h"
#include "belfry/detail/assign_verbs.h"
#include "belfry/detail/exchange_verbs.h"
#include "belfry/detail/merge_point.h"
#include "belfry/detail/merge_request.h"
#include "belfry/detail/mirror.h"
#include "belfry/detail/misplaced_verbs.h"
#include "belfry/detail/participants.h"
#include "belfry/detail/reductions/reduce_op.h"
#include "belfry/detail/strategy/options.h"
#include "belfry/detail/variable/aggregation.h"
#include "belfry/detail/verb.h"
#include "belfry/nest.h"
#include "belfry/reduction.h"
#include "belfry/shape.h"
#include "belfry/tensor.h"
#include "belfry/variable.h"

#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry {

class GroupContext;
class ReplicaGroups;
class ReplicaMesh;

namespace detail {
class ReplicaRunner;
struct DefaultContext;
}  // namespace detail

/// The first argument of a replica function: the replica's number and device, and the verbs by
/// which replicas meet.
///
///     strategy.run([](ReplicaContext& replica) {
///       const double x = 1.0 + replica.replica_id();
///       const double sum = replica.all_reduce(ReduceOp::kSum, x);    // 3 on both of two replicas.
///       const double largest = replica.merge_call(
///           [](CrossReplicaContext&, const PerReplica<double>& xs) { return xs[1]; }, x);    // 2.
///     });
///
/// The context is valid until the replica function returns. `merge_call`, `all_reduce`,
/// `all_gather`, the verbs of detail::ExchangeVerbs and assignments of mirrored variables are
/// merges: each waits until all replicas have made the same call. A MergeTag as the first argument
/// of a merge takes the place of the line of the call (SEM-132). Errors of every merge. Errors
/// "from `run`" end the run, and the caller of `run` gets the error:
/// - ContextError (kMergeNested): the context is not current, for example in a merge function;
/// - MergeMismatchError, from `run`: replicas do not meet. Some have ended (kMergeMissing), or they
///   wait at several lines (kMergePlaces), in several verbs (kMergeKinds), with several types
///   (kMergeTypes), or without a required name (kMergeUnnamed; SEM-5, SEM-133);
/// - ReplicaCancelled, in each waiting replica: the run has failed, and `run` throws the cause
///   (SEM-7). The default strategy has no run: its merges throw the cause at the call (SEM-16).
class ReplicaContext : public detail::AssignVerbs<ReplicaContext>,
                       public detail::ExchangeVerbs<ReplicaContext>,
                       public detail::NotOnReplicas {
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

  /// Waits for all replicas, calls `merge_fn(CrossReplicaContext&, const PerReplica<A>&...)` once,
  /// and returns the result to each replica.
  ///
  ///     R merge_call(F merge_fn, A... args);
  ///     R merge_call(MergeTag tag, F merge_fn, A... args);
  ///
  /// A result PerReplica or Mirrored, also inside nests, gives each replica its component; each
  /// replica gets a copy of any other result. A merge_fn with `Strategy&` as its first parameter
  /// gets the strategy. Lvalue arguments are copied into the merge, rvalues moved. merge_call_at
  /// takes the call site of a wrapper.
  /// Order: blocks the host until merge_fn has returned; device work that merge_fn enqueued may
  /// still be running.
  /// Throws, from `run`:
  /// - exceptions of merge_fn;
  /// - InvalidArgumentError (kInvalidArgument): a result of another number of replicas, or without
  ///   a component for a participating replica (SEM-90).
  detail::Verb<ReplicaContext, detail::calls::MergeCall> merge_call{*this};
  template <class F, class... Args>
  auto merge_call_at(detail::MergePlace place, F&& fn, Args&&... args) const {
    const std::decay_t<F>& function = fn;
    return merge_at<detail::MergeKind::kMergeCall>(place, nullptr, function,
                                                   std::forward<Args>(args)...);
  }

  /// Reduces every leaf of `value` over all replicas; the result has the structure of `value`, with
  /// tensors on this replica's device (SEM-30 to SEM-36).
  /// Order: blocks the host until all replicas have arrived. Tensors are reduced on communication
  /// streams, after the work that made them; later work waits if it uses the result, or changes
  /// the input (SEM-245). The host does not wait for the reduction.
  /// Throws, from `run`:
  /// - StructureMismatchError (kStructure): structures or operators of replicas differ;
  /// - InvalidArgumentError (kIntegerMean): the mean of integers;
  /// - InvalidArgumentError (kDType): bool;
  /// - InvalidArgumentError (kInvalidArgument): an invalid ReduceOp, or a default-constructed
  ///   tensor;
  /// - DeviceError (kOutOfMemory).
  template <class T>
  T all_reduce(ReduceOp op, T value, detail::MergePlace place = CallSite::here()) const {
    if constexpr (detail::require_nest<T>()) {
      merges_.note(id_, value);
      detail::AllReduceRequest request(detail::kAllReduceType<T>, place, op, value);
      merges_.meet(id_, request);
      merges_.note(id_, value);
    }
    return value;
  }

  /// Folds the values of all replicas by a reduction of the user, the one of replica 0 (SEM-38).
  /// Order: blocks the host until all replicas have arrived and the functions of the reduction have
  /// returned. Values are copied to replica 0's device and folded there, and the result is copied
  /// to every replica's device; the copies are enqueued.
  /// Throws, from `run`:
  /// - exceptions of the reduction;
  /// - StructureMismatchError (kStructure): structures of replicas differ;
  /// - DeviceError (kOutOfMemory).
  template <class R, class T>
    requires Reduction<R, T>
  ReductionResult<R, T> all_reduce(const R& reduction, T value,
                                   detail::MergePlace place = CallSite::here()) const;
  template <class R, class T>
    requires detail::NoReduction<R, T>
  detail::Refused all_reduce(const R&, const T&, detail::MergePlace = CallSite::here()) const {
    return detail::refuse_reduction<R, T>();
  }
  /// Either reduction, with a tag.
  template <class... A>
  auto all_reduce(const MergeTag& tag, A&&... op_and_value) const {
    return all_reduce(std::forward<A>(op_and_value)..., detail::MergePlace(tag));
  }

  /// Joins the values of all replicas along `axis`, in replica order, leaf by leaf; extents may
  /// differ along `axis` alone. Tensors come to this replica's device (SEM-121).
  /// Order: blocks the host until all replicas have arrived; copies and collectives are enqueued.
  /// Throws, from `run`:
  /// - StructureMismatchError (kStructure): structures, other extents or axes of replicas differ;
  /// - InvalidArgumentError (kShape): an axis out of range;
  /// - InvalidArgumentError (kInvalidArgument): a default-constructed tensor;
  /// - DeviceError (kOutOfMemory).
  template <class T>
  T all_gather(T value, Axis axis, detail::MergePlace place = CallSite::here()) const;
  template <class T>
  T all_gather(T value, detail::MergePlace place = CallSite::here()) const {
    if constexpr (detail::require_nest<T>()) {
      return all_gather(std::move(value), Axis(0), place);
    } else {
      return value;
    }
  }
  /// Joins lists of elements without leaves.
  template <class T>
    requires(!Nest<std::vector<T>>)
  std::vector<T> all_gather(std::vector<T> value,
                            detail::MergePlace place = CallSite::here()) const;
  template <class T>
    requires(!Nest<std::vector<T>>)
  std::vector<T> all_gather(const MergeTag& tag, std::vector<T> value) const {
    return all_gather(std::move(value), detail::MergePlace(tag));
  }
  template <class T>
  T all_gather(const MergeTag& tag, T value, Axis axis = Axis(0)) const {
    return all_gather(std::move(value), axis, tag);
  }

  /// The context of this replica's group in `groups`: its verbs are merges of the members alone
  /// (SEM-270). In the context of a group, the members of both groups.
  /// Throws:
  /// - InvalidArgumentError (kInvalidArgument): groups of another number of replicas, or without
  ///   this replica;
  /// - UnsupportedError (kUnsupported): a member of another process.
  GroupContext in(const ReplicaGroups& groups, CallSite site = CallSite::here()) const;
  /// The same for the replicas that differ from this replica along one axis of `mesh` (SEM-271).
  /// Throws: as `in`; InvalidArgumentError (kInvalidArgument) for the name of no axis.
  GroupContext along(const ReplicaMesh& mesh, std::string_view axis,
                     CallSite site = CallSite::here()) const;

  /// For the handles of variables.
  detail::MergePoint& merges() const { return merges_; }

 private:
  friend class detail::AssignVerbs<ReplicaContext>;
  friend class detail::ExchangeVerbs<ReplicaContext>;
  friend class detail::ReplicaRunner;
  friend class GroupContext;
  friend struct detail::DefaultContext;
  ReplicaContext(detail::MergePoint& merges, int replica) : merges_(merges), id_(replica) {}

  // The group whose members exchange values; null: all replicas.
  const detail::Participants* exchange_group() const { return merges_.group(); }
  template <detail::MergeKind Kind, class F, class... Args>
  auto merge_at(detail::MergePlace place, const void* identity, const F& fn, Args&&... args) const {
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
