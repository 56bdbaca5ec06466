// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/variable/aggregation.h"

#include "belfry/detail/strategy_reductions.h"
#include "belfry/error.h"

#include <string>

namespace belfry {

Aggregation aggregation_of(ReduceOp op, CallSite site) {
  require_operator(op, site);
  switch (op) {
    case ReduceOp::kSum:
      return Aggregation::kSum;
    case ReduceOp::kMean:
      return Aggregation::kMean;
    case ReduceOp::kMax:
      return Aggregation::kMax;
    case ReduceOp::kMin:
      return Aggregation::kMin;
    case ReduceOp::kProd:
      break;
  }
  return Aggregation::kProd;
}

ReduceOp detail::reduce_op_of(Aggregation aggregation) {
  using enum ReduceOp;
  for (const ReduceOp op : {kSum, kMean, kMax, kMin}) {
    if (aggregation_of(op) == aggregation) return op;
  }
  check(aggregation == Aggregation::kProd, "an aggregation without an operator");
  return kProd;
}

std::string to_string(Aggregation aggregation) {
  switch (aggregation) {
    case Aggregation::kNone:
      return "none";
    case Aggregation::kSum:
      return "sum";
    case Aggregation::kMean:
      return "mean";
    case Aggregation::kMax:
      return "max";
    case Aggregation::kMin:
      return "min";
    case Aggregation::kProd:
      return "prod";
    case Aggregation::kOnlyFirst:
      return "only-first";
    case Aggregation::kOther:
      return "other";
  }
  return "aggregation(" + std::to_string(static_cast<int>(aggregation)) + ")";
}

}  // namespace belfry
