// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/reduce_op.h"

namespace belfry {

/// A parameter type that accepts ReduceOp::kMean alone, as a constant expression.
struct MeanOnly {
  consteval MeanOnly(ReduceOp op) {  // NOLINT: implicit on purpose.
    if (op != ReduceOp::kMean) {
      throw "SUM of a Mirrored is ambiguous: the value, or the value times the replicas?";
    }
  }
};

}  // namespace belfry
