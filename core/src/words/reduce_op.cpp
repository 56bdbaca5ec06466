// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/reductions/reduce_op.h"

#include "belfry/error.h"

namespace belfry {

std::string to_string(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return "sum";
    case ReduceOp::kMean:
      return "mean";
    case ReduceOp::kMax:
      return "max";
    case ReduceOp::kMin:
      return "min";
    case ReduceOp::kProd:
      return "prod";
  }
  return "reduce_op(" + std::to_string(static_cast<int>(op)) + ")";
}

ReduceOp parse_reduce_op(std::string_view name, CallSite site) {
  std::string lower;
  for (const char c : name) lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  using enum ReduceOp;
  for (const ReduceOp op : {kSum, kMean, kMax, kMin, kProd}) {
    if (lower == to_string(op)) return op;
  }
  throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                             "there is no reduction \"" + std::string(name) + '"',
                             R"(the names are "sum", "mean", "max", "min" and "prod")", site);
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
