// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/reductions/reduce_op.h"
#include "belfry/dtype.h"

#include <nccl.h>

namespace belfry::cuda {

/// NCCL's operator. NCCL's own mean multiplies by a rounded 1/n: MEAN is a sum here.
constexpr ncclRedOp_t nccl_op_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::kMax:
      return ncclMax;
    case ReduceOp::kMin:
      return ncclMin;
    case ReduceOp::kProd:
      return ncclProd;
    case ReduceOp::kSum:
    case ReduceOp::kMean:
      break;
  }
  return ncclSum;
}

/// Whether NCCL reduces by another rule than belfry: NCCL's extremes of floats are the other
/// operand where one is NaN, and any zero of two (SEM-252).
constexpr bool breaks_rules_of(ReduceOp op, DType dtype) {
  return is_floating(dtype) && (op == ReduceOp::kMax || op == ReduceOp::kMin);
}

}  // namespace belfry::cuda
