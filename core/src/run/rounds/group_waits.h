// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/merge_request.h"
#include "belfry/detail/participants.h"
#include "run/rounds/run_report.h"

#include <vector>

/// Replicas that wait for the members of their groups (SEM-273, SEM-275).
namespace belfry::detail {

/// The replicas for the merge: the members of the group among the participants `present`, or all
/// of `present`.
Participants members_of(const MergeRequest& request, const Participants& present);

/// `replica` waits in a merge: the first replica of members_of without a wait in a merge of the
/// same members; -1: all wait.
int first_missing(const RunFacts& run, int replica);

/// Whether all members are in `own`, the replicas of a process.
inline bool is_within(const Participants& members, const Participants& own) {
  return own.has(members.id(0)) && own.has(members.id(members.count() - 1));
}

/// Whether some replica waits in a merge of a group.
bool waits_in_group(const RunFacts& run);

/// The groups within `own` whose members have all arrived, the group with the lowest member first.
std::vector<Participants> ready_groups(const RunFacts& run, const Participants& own);

/// Some replicas wait in merges of groups, and no merge has all replicas: the report of the first
/// group without a merge, and of no further replicas.
Failure groups_wait(const RunFacts& run);

}  // namespace belfry::detail
