// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/merge_request.h"
#include "belfry/detail/participants.h"
#include "belfry/detail/reductions/reduce_op.h"
#include "belfry/detail/strategy/options.h"
#include "belfry/shape.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry::detail {

/// What a replica asks of an exchange, beside its value. Members that a verb lacks keep their
/// values.
struct ExchangeArgs {
  int op = 0;                         ///< A ReduceOp.
  int axis = 0;                       ///< As Axis::value.
  int root = 0;                       ///< An index.
  std::vector<std::int64_t> sizes{};  ///< Of the parts, of all leaves or each; empty: balanced.
  std::vector<std::int64_t> pairs{};  ///< Sender and receiver of each pair, as indexes.
  static auto members(auto& self) {
    return std::tie(self.op, self.axis, self.root, self.sizes, self.pairs);
  }
};

/// The replicas that may exchange values. Each has an index, and the replicas that take part have
/// positions in the order of the indexes. For all replicas of a strategy, the index is the id.
class ExchangeMembers {
 public:
  /// The replicas of a group, or all replicas (null). Of these, those of `present` take part.
  ExchangeMembers(const Participants* group, const Participants& present);

  /// The number of indexes.
  int size() const { return static_cast<int>(positions_.size()); }
  /// The number of replicas that take part.
  int count() const { return static_cast<int>(ids_.size()); }
  /// The replica in a position, and its index.
  int id(int position) const { return ids_[static_cast<std::size_t>(position)]; }
  int index(int position) const { return indexes_[static_cast<std::size_t>(position)]; }
  bool has_index(std::int64_t index) const { return index >= 0 && index < size(); }
  /// The position of an index; -1 if its replica takes no part.
  int position(std::int64_t index) const { return positions_[static_cast<std::size_t>(index)]; }
  /// The position of a replica that takes part.
  int position_of(int replica) const;

 private:
  std::vector<int> ids_;        // By position.
  std::vector<int> indexes_;    // By position.
  std::vector<int> positions_;  // By index.
};

/// Verbs by which replicas exchange values, of a replica or of a group of replicas. Each is a
/// merge, and a MergeTag may be its first argument (SEM-132). A root and the replicas of pairs are
/// named by id, in a group by index. Parts belong to the replicas that take part, in the order of
/// these numbers: one part for each (SEM-260).
///
/// `Self` has `merge_at<Kind>(place, identity, function, args...)`, and `exchange_group()`: the
/// group, which outlives the merge; null for all replicas of the strategy.
///
/// Order, of every verb: blocks the host until all replicas have arrived. Host values are copied at
/// once. Copies, slices and reductions of tensors are enqueued on compute streams; each device gets
/// its own parts only.
/// Errors of every verb, from `run`, beside those of ReplicaContext:
/// - StructureMismatchError (kStructure): replicas name different operators, axes, roots, sizes or
///   pairs;
/// - InvalidArgumentError (kInvalidArgument): a root or a replica of a pair that does not exist or
///   takes no part;
/// - UnsupportedError (kUnsupported): over several processes, a type that cannot be sent (SEM-156);
/// - DeviceError (kOutOfMemory).
template <class Self>
class ExchangeVerbs {
 public:
  /// Reduces every leaf over all replicas, and gives each replica its part along `axis`. `sizes`
  /// are the extents of the parts; none: equal parts, of which the first have one more where the
  /// extent leaves a remainder. 4 rows on 3 replicas are 2, 1 and 1. A nest may have the sizes of
  /// each leaf, leaf after leaf. The parts, joined, have the bits of all_reduce (SEM-261).
  /// Throws, from `run`:
  /// - StructureMismatchError (kStructure): structures, lengths or shapes of replicas differ;
  /// - InvalidArgumentError (kShape): an axis out of range, or sizes that do not add up to the
  ///   extent;
  /// - InvalidArgumentError (kInvalidArgument): another number of sizes than of replicas that take
  ///   part, an invalid ReduceOp, or a default-constructed tensor;
  /// - InvalidArgumentError (kIntegerMean, kDType), as all_reduce.
  template <class T>
  T reduce_scatter(ReduceOp op, T value, Axis axis, std::vector<std::int64_t> sizes = {},
                   MergePlace place = CallSite::here()) const;
  template <class T>
  T reduce_scatter(const MergeTag& tag, ReduceOp op, T value, Axis axis,
                   std::vector<std::int64_t> sizes = {}) const {
    return reduce_scatter(op, std::move(value), axis, std::move(sizes), tag);
  }

  /// Sends part i to the i-th replica; element j of the result came from the j-th replica. Parts
  /// may differ in lengths, shapes and structure (SEM-262).
  /// Throws, from `run`: InvalidArgumentError (kInvalidArgument): another number of parts than of
  /// replicas that take part.
  template <class T>
  std::vector<T> all_to_all(std::vector<T> parts, MergePlace place = CallSite::here()) const;
  template <class T>
  std::vector<T> all_to_all(const MergeTag& tag, std::vector<T> parts) const {
    return all_to_all(std::move(parts), MergePlace(tag));
  }

  /// The value of `root`, on every replica; the values of other replicas are dropped (SEM-263).
  template <class T>
  T broadcast(T value, int root, MergePlace place = CallSite::here()) const;
  template <class T>
  T broadcast(const MergeTag& tag, T value, int root) const {
    return broadcast(std::move(value), root, MergePlace(tag));
  }

  /// Sends values by pairs of a sender and a receiver. A receiver gets the value of its sender, and
  /// any other replica nothing. A replica may send to several receivers, and to itself (SEM-264).
  /// Throws, from `run`: InvalidArgumentError (kInvalidArgument): two senders to one receiver.
  template <class T>
  std::optional<T> permute(T value, const std::vector<std::pair<int, int>>& pairs,
                           MergePlace place = CallSite::here()) const;
  template <class T>
  std::optional<T> permute(const MergeTag& tag, T value,
                           const std::vector<std::pair<int, int>>& pairs) const {
    return permute(std::move(value), pairs, MergePlace(tag));
  }

  /// Gives the i-th replica part i of `root`'s parts. The parts of other replicas are dropped and
  /// may be empty (SEM-265).
  /// Throws, from `run`: InvalidArgumentError (kInvalidArgument): the root has another number of
  /// parts than of replicas that take part.
  template <class T>
  T scatter_from(std::vector<T> parts, int root, MergePlace place = CallSite::here()) const;
  template <class T>
  T scatter_from(const MergeTag& tag, std::vector<T> parts, int root) const {
    return scatter_from(std::move(parts), root, MergePlace(tag));
  }
  /// Gives each replica its part of `root`'s value along `axis`, with the parts of reduce_scatter.
  /// The values of other replicas are dropped.
  /// Throws, from `run`: InvalidArgumentError (kShape, kInvalidArgument), as reduce_scatter.
  template <class T>
  T scatter_from(T value, Axis axis, int root, std::vector<std::int64_t> sizes = {},
                 MergePlace place = CallSite::here()) const;
  template <class T>
  T scatter_from(const MergeTag& tag, T value, Axis axis, int root,
                 std::vector<std::int64_t> sizes = {}) const {
    return scatter_from(std::move(value), axis, root, std::move(sizes), tag);
  }

  /// The values of all replicas joined along `axis`, as all_gather joins them, on the root; nothing
  /// on the other replicas (SEM-266).
  /// Throws, from `run`: as all_gather.
  template <class T>
  std::optional<T> gather_to(T value, Axis axis, int root,
                             MergePlace place = CallSite::here()) const;
  template <class T>
  std::optional<T> gather_to(T value, int root, MergePlace place = CallSite::here()) const {
    return gather_to(std::move(value), Axis(0), root, place);
  }
  template <class T>
  std::optional<T> gather_to(const MergeTag& tag, T value, Axis axis, int root) const {
    return gather_to(std::move(value), axis, root, MergePlace(tag));
  }
  template <class T>
  std::optional<T> gather_to(const MergeTag& tag, T value, int root) const {
    return gather_to(std::move(value), Axis(0), root, MergePlace(tag));
  }

 private:
  // `values_of(exchange, values of all replicas, own replicas)` are the results of the own
  // replicas.
  template <MergeKind Kind, class T, class Values>
  auto exchange(MergePlace place, T value, ExchangeArgs args, const Values& values_of) const;

  const Self& self() const { return static_cast<const Self&>(*this); }
};

}  // namespace belfry::detail
