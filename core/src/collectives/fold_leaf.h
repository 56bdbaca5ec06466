// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/reductions/reduce_op.h"
#include "belfry/nest.h"

#include <cstddef>
#include <span>
#include <vector>

namespace belfry::detail {

/// Replaces a leaf of part 0 by the reduction over all parts, in their order. Tensors are reduced
/// on the device of part 0, on its compute stream.
void fold_leaf(ReduceOp op, std::span<const std::vector<LeafRef>> parts, std::size_t leaf);

}  // namespace belfry::detail
