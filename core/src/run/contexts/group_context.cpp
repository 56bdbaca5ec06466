// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/group_context.h"

#include "belfry/detail/participants.h"
#include "belfry/error.h"

#include <string>
#include <utility>
#include <vector>

namespace belfry {
namespace {

[[noreturn]] void refuse_replica(int replica, std::string summary, std::string hint,
                                 CallSite site) {
  ErrorReport report;
  report.code = ErrorCode::kInvalidArgument;
  report.summary = std::move(summary);
  report.site = site;
  report.replicas.push_back({replica, site, "asked for its group", {}});
  report.hint = std::move(hint);
  throw InvalidArgumentError(std::move(report));
}

// The common members of the replica's group in `groups` and of the group of `outer`.
detail::Participants members_of(const ReplicaContext& outer, const ReplicaGroups& groups,
                                CallSite site) {
  const int replica = outer.replica_id();
  const int replicas = outer.num_replicas();
  if (groups.num_replicas() != replicas) {
    refuse_replica(replica,
                   "groups of " + std::to_string(groups.num_replicas()) + " replicas in a run of " +
                       std::to_string(replicas),
                   "make the groups with the strategy that runs", site);
  }
  const int number = groups.group_of(replica);
  if (number < 0) {
    refuse_replica(replica, "replica " + std::to_string(replica) + " is in no group",
                   "leave the call out where groups.group_of(replica.replica_id()) is -1, or give "
                   "the replica a group",
                   site);
  }
  std::vector<int> ids = groups.members(number);
  if (const detail::Participants* const around = outer.merges().group()) {
    std::erase_if(ids, [&](int id) { return !around->has(id); });
  }
  return {replicas, std::move(ids)};
}

}  // namespace

// The base refers to the point before the point exists, and uses the point afterwards alone.
GroupContext::GroupContext(const ReplicaContext& outer, const ReplicaGroups& groups, CallSite site)
    : ReplicaContext(point_, outer.replica_id()),
      point_(outer.merges(), members_of(outer, groups, site)),
      number_(groups.group_of(outer.replica_id())) {}

GroupContext ReplicaContext::in(const ReplicaGroups& groups, CallSite site) const {
  return {*this, groups, site};
}

GroupContext ReplicaContext::along(const ReplicaMesh& mesh, std::string_view axis,
                                   CallSite site) const {
  return {*this, mesh.along(axis, site), site};
}

}  // namespace belfry
