// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/replica_context.h"

namespace belfry::bugs {

/// Waits until all replicas have arrived.
inline void meet(ReplicaContext& replica) {
  replica.merge_call([](CrossReplicaContext&) {});
}

}  // namespace belfry::bugs
