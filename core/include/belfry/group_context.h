// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/group_point.h"
#include "belfry/replica_context.h"
#include "belfry/replica_groups.h"

namespace belfry {

/// A replica in a group of replicas: `ReplicaContext::in` and `ReplicaContext::along`. Every merge
/// of the context waits for the members of the group alone.
///
///     const auto group = replica.in(pairs);
///     const double mean = group.all_reduce(ReduceOp::kMean, loss);    // Over the members.
///     const int last = group.merge_call(
///         [](CrossReplicaContext&, const PerReplica<int>& xs) {    // By replica id (SEM-272).
///           return *(xs.end() - 1);
///         }, replica.replica_id());
///
/// `replica_id`, `num_replicas` and `device` are those of the replica in the strategy; `index` and
/// `size` count members. Groups have rounds of their own: their numbers of merges may differ. A
/// replica that uses several groups uses them in an order that all members can follow (SEM-273).
/// Mirrored variables change with all replicas: assignments and scatters through the context are an
/// UnsupportedError, and so are updates in a merge function of the group (SEM-274).
/// The context is valid as long as the context that made it. Errors of merges: as ReplicaContext;
/// reports name the members, and no replica of another group (SEM-275).
class GroupContext final : public ReplicaContext {
 public:
  int group() const { return number_; }  ///< The number of the group in its description.
  /// The position of this replica among the members, from 0 to size() - 1.
  int index() const { return point_.group()->position(replica_id()); }
  int size() const { return point_.group()->count(); }  ///< The number of members.

 private:
  friend class ReplicaContext;
  GroupContext(const ReplicaContext& outer, const ReplicaGroups& groups, CallSite site);

  detail::GroupPoint point_;
  int number_;
};

}  // namespace belfry
