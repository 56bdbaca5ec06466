// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/reduce_op.h"

namespace belfry {

std::string to_string(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return "sum";
    case ReduceOp::kMean:
      return "mean";
  }
  return "reduce_op(" + std::to_string(static_cast<int>(op)) + ")";
}

std::string to_string(ReductionOrder order) {
  switch (order) {
    case ReductionOrder::kReplicaOrder:
      return "replica order";
    case ReductionOrder::kTree:
      return "tree";
    case ReductionOrder::kRing:
      return "ring";
    case ReductionOrder::kUnspecified:
      return "unspecified";
  }
  return "order(" + std::to_string(static_cast<int>(order)) + ")";
}

}  // namespace belfry
