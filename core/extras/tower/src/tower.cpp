// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/tower.h"

#include "belfry/error.h"

namespace belfry::tower::detail {

void require_mean_of_mirrored(ReduceOp op, CallSite site) {
  if (op == ReduceOp::kMean) return;
  throw InvalidArgumentError(ErrorCode::kSumOfMirrored, "SUM of a Mirrored is ambiguous",
                             "use the value itself, or the value times the number of replicas",
                             site);
}

void require_current(const ReplicaContext& tower, CallSite site) {
  if (current_replica() == &tower) return;
  throw ContextError(ErrorCode::kWrongContext,
                     "a variable scope was asked for through a replica context that is not current",
                     "use the ReplicaContext& that this replica's function was given", site);
}

}  // namespace belfry::tower::detail
