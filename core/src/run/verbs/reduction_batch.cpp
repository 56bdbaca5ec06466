// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/reduction_batch.h"

#include "collectives/require_reducible.h"

#include <algorithm>
#include <cstddef>

namespace belfry::detail {

std::vector<std::vector<LeafRef>>& ReductionBatch::parts_of(const Participants& present,
                                                            bool has_tensors) {
  auto group = std::ranges::find(groups_, present, &Group::present);
  if (group == groups_.end()) {
    groups_.push_back({.present = present});
    group = groups_.end() - 1;
    group->parts.resize(static_cast<std::size_t>(present.count()));
  }
  group->has_tensors |= has_tensors;
  return group->parts;
}

void ReductionBatch::reduce(StrategyCore& core, ReduceOp op, CallSite site) const {
  require_operator(op, site);  // Also where nothing is in the batch.
  for (const Group& group : groups_) {
    reduce_at(site, core, {op, group.parts, group.has_tensors, group.present});
  }
}

}  // namespace belfry::detail
