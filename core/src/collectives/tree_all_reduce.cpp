// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/planned_all_reduce.h"

#include <algorithm>
#include <utility>

namespace belfry {

std::optional<ReductionPlan> TreeAllReduce::plan(int members) const {
  ReductionPlan plan{.members = members};
  for (int distance = 1; distance < members; distance *= 2) {
    std::vector<ReductionPlan::Sum> sums;
    std::vector<ReductionPlan::Copy> copies;
    for (int lower = 0; lower + distance < members; lower += 2 * distance) {
      sums.push_back({lower, {}, {lower, lower + distance}});
      copies.push_back({lower, lower + distance, {}});
    }
    plan.sums.push_back(std::move(sums));
    plan.copies.push_back(std::move(copies));
  }
  std::ranges::reverse(plan.copies);
  return plan;
}

}  // namespace belfry
