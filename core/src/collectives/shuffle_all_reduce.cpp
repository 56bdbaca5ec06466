// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/error.h"
#include "belfry/planned_all_reduce.h"

#include <numeric>
#include <string>
#include <utility>

namespace belfry {

ShuffleAllReduce::ShuffleAllReduce(int shards, CallSite site) : shards_(shards) {
  if (shards < 0) {
    throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                               "a shuffle has " + std::to_string(shards) + " shards",
                               "use 0 for a shard for each replica", site);
  }
}

std::optional<ReductionPlan> ShuffleAllReduce::plan(int members) const {
  ReductionPlan plan{.members = members,
                     .chunks = shards_ == 0 ? members : shards_,
                     .rule = ChunkRule::kRemainderLast};
  if (members == 1) return plan;
  std::vector<int> all(static_cast<std::size_t>(members));
  std::iota(all.begin(), all.end(), 0);
  std::vector<ReductionPlan::Sum> sums;
  std::vector<ReductionPlan::Copy> copies;
  for (int shard = 0; shard < plan.chunks; ++shard) {
    const int adder = shard % members;
    sums.push_back({adder, {shard, 1}, all});
    for (int member = 0; member < members; ++member) {
      if (member != adder) copies.push_back({adder, member, {shard, 1}});
    }
  }
  plan.sums.push_back(std::move(sums));
  plan.copies.push_back(std::move(copies));
  return plan;
}

}  // namespace belfry
