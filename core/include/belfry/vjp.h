// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/cross_replica_context.h"
#include "belfry/detail/compiler.h"
#include "belfry/detail/exchange_parts.h"
#include "belfry/detail/reductions/reduce_op.h"
#include "belfry/detail/refused.h"
#include "belfry/detail/vjp_leaves.h"
#include "belfry/nest.h"
#include "belfry/replica_context.h"
#include "belfry/shape.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

/// Gradients through collectives: from the gradient of the loss by the output of a collective, the
/// cotangent, each function computes the gradient by the input (SEM-127). The loss is the sum of
/// the losses of all replicas.
///
///     const double y = replica.all_reduce(ReduceOp::kSum, x);               // Forward.
///     const double dx = all_reduce_vjp(replica, ReduceOp::kSum, dy);        // Backward.
///
/// These collectives are linear: a product needs at most the structure of the input, and is a
/// collective again. Products with a ReplicaContext are merges that every replica must reach.
/// Order: as the collectives that the product calls.
/// Throws, beside the errors of these collectives:
/// - InvalidArgumentError (kShape): a cotangent of another length than the gathered value;
/// - InvalidArgumentError (kIntegerMean): MEAN of integers;
/// - UnsupportedError (kUnsupported): MAX, MIN and PROD, whose derivatives need the values;
/// - StructureMismatchError (kStructure): a cotangent with other leaves or keys than the gathered
///   value.
namespace belfry {

/// Goes back through all_reduce: for SUM the sum of the cotangents, for MEAN their mean.
template <class T>
T all_reduce_vjp(ReplicaContext& replica, ReduceOp op, T cotangent,
                 detail::MergePlace place = CallSite::here()) {
  if constexpr (detail::require_nest<T>()) {
    detail::require_linear(op, place.site);
    return replica.all_reduce(op, std::move(cotangent), place);
  } else {
    return detail::Refused();
  }
}
/// all_reduce_vjp with a tag (SEM-132).
template <class T>
T all_reduce_vjp(ReplicaContext& replica, const MergeTag& tag, ReduceOp op, T cotangent) {
  return all_reduce_vjp(replica, op, std::move(cotangent), tag);
}

/// Goes back through all_gather of `value`: this replica's slice of the sum of the cotangents, a
/// reduce_scatter.
template <class T>
T all_gather_vjp(ReplicaContext& replica, const T& value, T cotangent, Axis axis = Axis(0),
                 detail::MergePlace place = CallSite::here()) {
  if constexpr (detail::require_nest<T>()) {
    const CallSite site = place.site;
    detail::require_tree_of(value, cotangent, site);
    const std::vector<std::int64_t> own = detail::extents_along(value, axis, site);
    const std::vector<std::int64_t> all = replica.all_gather(own, place);
    std::vector<std::int64_t> sizes = detail::leaf_after_leaf(all, own.size());
    detail::require_whole(detail::extents_along(cotangent, axis, site), sizes, site);
    return replica.reduce_scatter(ReduceOp::kSum, std::move(cotangent), axis, std::move(sizes),
                                  place);
  } else {
    return detail::Refused();
  }
}
/// all_gather_vjp with a tag for both merges (SEM-132).
template <class T>
T all_gather_vjp(ReplicaContext& replica, const MergeTag& tag, const T& value, T cotangent,
                 Axis axis = Axis(0)) {
  return all_gather_vjp(replica, value, std::move(cotangent), axis, tag);
}

/// Goes back through reduce_scatter, with or without sizes: the joined cotangents for SUM, and
/// divided by the number of replicas that take part for MEAN. A MEAN needs a second merge.
template <class T>
T reduce_scatter_vjp(ReplicaContext& replica, ReduceOp op, T cotangent, Axis axis,
                     detail::MergePlace place = CallSite::here()) {
  if constexpr (detail::require_axes<T>()) {
    detail::require_linear(op, place.site);
    T joined = replica.all_gather(std::move(cotangent), axis, place);
    if (op == ReduceOp::kMean) {
      const std::size_t replicas = replica.all_gather(std::vector<int>{1}, place).size();
      detail::divide_leaves(joined, static_cast<int>(replicas), place.site);
    }
    return joined;
  } else {
    return detail::Refused();
  }
}
/// reduce_scatter_vjp with a tag for all merges (SEM-132).
template <class T>
T reduce_scatter_vjp(ReplicaContext& replica, const MergeTag& tag, ReduceOp op, T cotangent,
                     Axis axis) {
  return reduce_scatter_vjp(replica, op, std::move(cotangent), axis, tag);
}

/// Goes back through all_to_all: cotangent j goes to the j-th replica.
template <class T>
std::vector<T> all_to_all_vjp(ReplicaContext& replica, std::vector<T> cotangents,
                              detail::MergePlace place = CallSite::here()) {
  return replica.all_to_all(std::move(cotangents), place);
}
/// all_to_all_vjp with a tag (SEM-132).
template <class T>
std::vector<T> all_to_all_vjp(ReplicaContext& replica, const MergeTag& tag,
                              std::vector<T> cotangents) {
  return replica.all_to_all(std::move(cotangents), detail::MergePlace(tag));
}

/// Goes back through permute: the sum of the cotangents of the receivers, in the order of their
/// ids, and nothing for a replica that sent nothing. A replica that got nothing has no cotangent.
/// Senders with several receivers need a second merge.
/// Throws, from `run`: StructureMismatchError (kStructure): receivers of one sender have cotangents
/// that differ in structure, lengths or shapes.
template <class T>
std::optional<T> permute_vjp(ReplicaContext& replica, std::optional<T> cotangent,
                             const std::vector<std::pair<int, int>>& pairs,
                             detail::MergePlace place = CallSite::here()) {
  if (!detail::has_sender_of_several(pairs)) {
    std::vector<std::pair<int, int>> back;
    for (const auto& [sender, receiver] : pairs) back.emplace_back(receiver, sender);
    return replica.permute(std::move(cotangent), back, place).value_or(std::nullopt);
  }
  const std::vector<int> ids = replica.all_gather(std::vector<int>{replica.replica_id()}, place);
  std::vector<std::optional<T>> parts(ids.size());
  for (const auto& [sender, receiver] : pairs) {
    const auto to = std::ranges::find(ids, sender);
    if (receiver != replica.replica_id() || to == ids.end()) continue;
    parts[static_cast<std::size_t>(to - ids.begin())] = std::move(cotangent);
  }
  return detail::sum_of(replica.all_to_all(std::move(parts), place), ids, place.site);
}
/// permute_vjp with a tag (SEM-132).
template <class T>
std::optional<T> permute_vjp(ReplicaContext& replica, const MergeTag& tag,
                             std::optional<T> cotangent,
                             const std::vector<std::pair<int, int>>& pairs) {
  return permute_vjp(replica, std::move(cotangent), pairs, detail::MergePlace(tag));
}

/// Goes back through reduce over all N replicas: the cotangent for SUM, and divided by N for MEAN,
/// on every replica.
template <class T>
Mirrored<T> reduce_vjp(CrossReplicaContext& cross, ReduceOp op, T cotangent,
                       CallSite site = CallSite::here()) {
  if constexpr (detail::require_nest<T>()) {
    detail::require_linear(op, site);
    if (op == ReduceOp::kMean) detail::divide_leaves(cotangent, cross.num_replicas(), site);
    return cross.broadcast(cotangent, site);
  } else {
    return detail::Refused();
  }
}

/// Goes back through reduce of `value`, of which some replicas may have no component (SEM-90): each
/// replica with a component gets the cotangent for SUM, and divided by the number of components for
/// MEAN, on its device. A broadcast.
template <class T>
PerReplica<T> reduce_vjp(CrossReplicaContext& cross, ReduceOp op, const PerReplica<T>& value,
                         T cotangent, CallSite site = CallSite::here()) {
  if constexpr (detail::require_nest<T>()) {
    cross.core().require_cross("reduce_vjp", site);
    detail::require_linear(op, site);
    detail::require_replicas(cross.core(), value.size(), site);
    const detail::Participants& present = value.present();
    if (op == ReduceOp::kMean) {
      const int count = detail::count_of_processes(cross.core(), "reduce_vjp", present, site);
      detail::divide_leaves(cotangent, count, site);
    }
    if (present.count() == 0) return PerReplica<T>(detail::ReplicaArray<T>(), present);
    std::vector<Placement> places;
    places.reserve(static_cast<std::size_t>(present.count()));
    for (int i = 0; i < present.count(); ++i) {
      places.push_back(cross.core().placement(present.id(i)));
    }
    return PerReplica<T>(detail::copies_on(cross.core(), cotangent, places), present);
  } else {
    return detail::Refused();
  }
}

/// Goes back through broadcast: the sum of the cotangents, on replica 0's device.
template <class T>
T broadcast_vjp(CrossReplicaContext& cross, const PerReplica<T>& cotangents,
                CallSite site = CallSite::here()) {
  if constexpr (detail::require_nest<T>()) {
    return cross.reduce(ReduceOp::kSum, cotangents, site).value();
  } else {
    return detail::Refused();
  }
}

/// Goes back through gather of `value`: each replica's slice of the cotangent, on the replica's
/// device.
template <class T>
PerReplica<T> gather_vjp(CrossReplicaContext& cross, const PerReplica<T>& value, const T& cotangent,
                         Axis axis = Axis(0), CallSite site = CallSite::here()) {
  if constexpr (detail::require_nest<T>()) {
    cross.core().require_cross("gather_vjp", site);
    detail::require_replicas(cross.core(), value.size(), site);
    const detail::Participants& present = value.present();
    using Extents = std::vector<std::int64_t>;
    detail::ReplicaArray<Extents> own(present.count());
    for (const T& part : value) {
      detail::require_tree_of(part, cotangent, site);
      own.emplace_back(detail::extents_along(part, axis, site));
    }
    detail::ReplicaArray<T> slices(present.count());
    const auto cut_slices = [&](const PerReplica<Extents>& all) {
      Extents begins(all.begin()->size());
      for (int i = 0; i < all.present().count(); ++i) {
        const int replica = all.present().id(i);
        const Extents& extents = all[replica];
        begins.resize(extents.size());
        if (present.has(replica)) {
          T part = cotangent;
          detail::cut_leaves(part, axis, begins, extents, site);
          slices.emplace_back(detail::placed_on(part, cross.core().placement(replica)));
        }
        for (std::size_t leaf = 0; leaf < extents.size(); ++leaf) begins[leaf] += extents[leaf];
      }
    };
    detail::of_all_processes(cross.core(), "gather_vjp",
                             PerReplica<Extents>(std::move(own), present), site, cut_slices);
    return PerReplica<T>(std::move(slices), present);
  } else {
    return detail::Refused();
  }
}

/// In a merge; the call does not compile.
template <class... Args>
detail::Refused all_reduce_vjp(CrossReplicaContext& /*context*/, Args&&... /*arguments*/) {
  static_assert(detail::kTaken<Args...>,
                "all_reduce_vjp takes the context of a replica: write reduce_vjp(cross, op, "
                "cotangent) in a merge");
  return detail::Refused();
}
/// In a merge; the call does not compile.
template <class... Args>
detail::Refused all_gather_vjp(CrossReplicaContext& /*context*/, Args&&... /*arguments*/) {
  static_assert(detail::kTaken<Args...>,
                "all_gather_vjp takes the context of a replica: write gather_vjp(cross, value, "
                "cotangent) in a merge");
  return detail::Refused();
}
/// In a replica; the call does not compile.
template <class... Args>
detail::Refused reduce_vjp(ReplicaContext& /*context*/, Args&&... /*arguments*/) {
  static_assert(detail::kTaken<Args...>,
                "reduce_vjp takes the context of a merge: write all_reduce_vjp(replica, op, "
                "cotangent) in a replica");
  return detail::Refused();
}
/// In a replica; the call does not compile.
template <class... Args>
detail::Refused broadcast_vjp(ReplicaContext& /*context*/, Args&&... /*arguments*/) {
  static_assert(detail::kTaken<Args...>,
                "broadcast_vjp takes the context of a merge: write replica.merge_call(fn, "
                "cotangent), with the call in fn");
  return detail::Refused();
}
/// In a replica; the call does not compile.
template <class... Args>
detail::Refused gather_vjp(ReplicaContext& /*context*/, Args&&... /*arguments*/) {
  static_assert(detail::kTaken<Args...>,
                "gather_vjp takes the context of a merge: write all_gather_vjp(replica, value, "
                "cotangent) in a replica");
  return detail::Refused();
}

}  // namespace belfry
