// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/reductions/reduce_op.h"
#include "belfry/dtype.h"
#include "clique.h"

#include <optional>
#include <vector>

namespace belfry::driver {

/// The element type that NCCL calls `type`; empty for types that the simulated driver does not add.
std::optional<DType> dtype_of(ncclDataType_t type);

/// The reduction of NCCL's operator `op`; empty for operators that the simulated driver lacks.
std::optional<ReduceOp> reduce_op_of(ncclRedOp_t op);

/// Executes the calls of all ranks on host memory. Sums and products are in `order`, except those
/// of 16-bit floats, with rounded partial results. Extremes of floats drop NaN.
void run_collective(const std::vector<CliqueCall>& calls, ReductionOrder order);

}  // namespace belfry::driver
