// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/merge_request.h"
#include "belfry/detail/participants.h"
#include "run/rounds/run_report.h"

/// Replicas that wait for the members of their groups (SEM-273, SEM-275).
namespace belfry::detail {

/// The replicas that the merge needs: the members of its group that take part in the run, or all
/// of `present`.
Participants members_of(const MergeRequest& request, const Participants& present);

/// `replica` waits in a merge: the first of its members_of that does not wait in a merge of the
/// same members; -1: all wait there.
int first_missing(const RunFacts& run, int replica);

/// Some replicas wait in merges of groups, and no merge has all its replicas: the report of the
/// first group that cannot go on, and of no other replicas.
Failure groups_wait(const RunFacts& run);

}  // namespace belfry::detail
