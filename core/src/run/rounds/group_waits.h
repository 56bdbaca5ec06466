// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/merge_request.h"
#include "belfry/detail/participants.h"
#include "run/rounds/run_report.h"

/// Replicas that wait for the members of their groups (SEM-273, SEM-275).
namespace belfry::detail {

/// The replicas for the merge: the members of the group among the participants `present`, or all
/// of `present`.
Participants members_of(const MergeRequest& request, const Participants& present);

/// `replica` waits in a merge: the first replica of members_of without a wait in a merge of the
/// same members; -1: all wait.
int first_missing(const RunFacts& run, int replica);

/// Some replicas wait in merges of groups, and no merge has all replicas: the report of the first
/// group without a merge, and of no further replicas.
Failure groups_wait(const RunFacts& run);

}  // namespace belfry::detail
