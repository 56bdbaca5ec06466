// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/all_reduce_request.h"

namespace belfry::detail {

/// all_reduce over all processes: the leaves of the replicas of this process are replaced by the
/// reduction over the replicas of all processes.
/// Throws: as execute_all_reduce and RoundMembers::exchange.
void all_reduce_over_processes(CrossReplicaContext& cross, MergeRequest* const* requests,
                               const Participants& present);

}  // namespace belfry::detail
