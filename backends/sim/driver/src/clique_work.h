// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/dtype.h"
#include "belfry/reduce_op.h"
#include "clique.h"

#include <optional>
#include <vector>

namespace belfry::driver {

/// The element type NCCL calls `type`; nothing for those the simulated driver does not add up.
std::optional<DType> dtype_of(ncclDataType_t type);

/// Does on host memory what the calls of all ranks ask for. Sums are added up in `order`,
/// but those of 16-bit floats, each partial sum of which is rounded.
void run_collective(const std::vector<CliqueCall>& calls, ReductionOrder order);

}  // namespace belfry::driver
