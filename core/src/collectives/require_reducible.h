// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/reductions/reduce_op.h"
#include "belfry/dtype.h"
#include "belfry/error.h"
#include "belfry/nest.h"

#include <string>

namespace belfry {

/// Throws: InvalidArgumentError (kInvalidArgument) for a number that stands for no operator.
inline void require_operator(ReduceOp op, CallSite site) {
  // A number that was read from a file may stand for no operator.
  if (op <= ReduceOp::kMean) return;
  throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                             to_string(op) + " is no way to reduce values",
                             "use ReduceOp::kSum or ReduceOp::kMean", site);
}

/// Throws: InvalidArgumentError (kInvalidArgument) for a number that stands for no operator,
/// (kDType) for bool, (kIntegerMean) for MEAN of integers.
inline void require_reducible(ReduceOp op, DType dtype, CallSite site = {}) {
  require_operator(op, site);
  if (dtype == DType::kBool) {
    throw InvalidArgumentError(ErrorCode::kDType, "bool values cannot be reduced",
                               "cast them to an integer type first", site);
  }
  if (op == ReduceOp::kMean && !is_floating(dtype)) {
    throw InvalidArgumentError(
        ErrorCode::kIntegerMean, "MEAN over " + to_string(dtype) + " would lose the remainder",
        "convert to a floating-point type, SUM and divide as you mean it, or reduce by "
        "PromotedMean{} (doubles) or TruncatedMean{} in place of MEAN",
        site);
  }
}

/// The same for a leaf. Throws: InvalidArgumentError (kDType) also for MEAN of a type with
/// ElementTraits without `divide`.
inline void require_reducible(ReduceOp op, const LeafRef& leaf, CallSite site = {}) {
  if (leaf.own == nullptr) return require_reducible(op, leaf.dtype, site);
  require_operator(op, site);
  if (op != ReduceOp::kMean || leaf.own->divide != nullptr) return;
  const std::string type = detail::name_of(*leaf.own);
  throw InvalidArgumentError(ErrorCode::kDType, "values of " + type + " have no MEAN",
                             "write static " + type + " divide(const " + type +
                                 "& sum, int count) in ElementTraits, or reduce by SUM",
                             site);
}

}  // namespace belfry
