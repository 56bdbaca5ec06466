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

}  // namespace belfry::tower::detail
