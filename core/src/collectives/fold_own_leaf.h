// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/reductions/reduce_op.h"
#include "belfry/nest.h"

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

namespace belfry::detail {

/// Replaces a leaf with ElementTraits of part 0 by the reduction over all parts: a left fold in the
/// order of the parts, and a division by their number for MEAN (SEM-158).
inline void fold_own_leaf(ReduceOp op, std::span<const std::vector<LeafRef>> parts,
                          std::size_t leaf) {
  const LeafRef& sum = parts.front()[leaf];
  for (const auto& part : parts.subspan(1)) sum.own->add_to(sum.data, part[leaf].data);
  if (op == ReduceOp::kMean) sum.own->divide(sum.data, static_cast<int>(parts.size()));
}

/// Copies the leaf of part 0 to all parts.
inline void copy_own_leaf(std::span<const std::vector<LeafRef>> parts, std::size_t leaf) {
  const LeafRef& from = parts.front()[leaf];
  for (const auto& part : parts.subspan(1)) std::memcpy(part[leaf].data, from.data, from.own->size);
}

}  // namespace belfry::detail
