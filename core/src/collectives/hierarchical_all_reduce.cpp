// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/error.h"
#include "belfry/planned_all_reduce.h"
#include "collectives/neighbour_groups.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>

namespace belfry {
namespace {

using Groups = std::vector<std::vector<int>>;

int ceiling_of_square_root(int n) {
  int root = 1;
  while (root * root < n) ++root;
  return root;
}

std::size_t members_of(const Groups& groups) {
  return std::accumulate(groups.begin(), groups.end(), std::size_t{0},
                         [](std::size_t sum, const auto& group) { return sum + group.size(); });
}

}  // namespace

HierarchicalAllReduce::HierarchicalAllReduce(Groups groups, CallSite site)
    : groups_(std::move(groups)), site_(site) {
  std::vector<int> all;
  for (std::vector<int>& group : groups_) {
    std::ranges::sort(group);
    all.insert(all.end(), group.begin(), group.end());
    if (group.empty()) all.push_back(-1);
  }
  std::ranges::sort(all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] == static_cast<int>(i)) continue;
    throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                               "the groups of a hierarchical reduction lack a replica, have one "
                               "twice, or have an empty group",
                               "list the numbers of all replicas once, in groups", site);
  }
}

void HierarchicalAllReduce::require_fit(const ReplicaDevices& devices) const {
  if (!groups_.empty() && members_of(groups_) != static_cast<std::size_t>(devices.size())) {
    throw InvalidArgumentError(
        ErrorCode::kInvalidArgument,
        "the groups of a hierarchical reduction have " + std::to_string(members_of(groups_)) +
            " replicas, and the strategy has " + std::to_string(devices.size()),
        "list the numbers of all replicas once, in groups", site_);
  }
}

std::optional<ReductionPlan> HierarchicalAllReduce::plan(int members) const {
  const bool fits = members_of(groups_) == static_cast<std::size_t>(members);
  const Groups groups = fits ? groups_ : neighbour_groups(members, ceiling_of_square_root(members));
  ReductionPlan plan{.members = members};
  std::vector<ReductionPlan::Sum> of_groups;
  std::vector<ReductionPlan::Copy> in_groups;
  std::vector<ReductionPlan::Copy> to_groups;
  ReductionPlan::Sum total{.member = groups.front().front()};
  for (const std::vector<int>& group : groups) {
    const int first = group.front();
    total.terms.push_back(first);
    if (first != total.member) to_groups.push_back({total.member, first, {}});
    if (group.size() == 1) continue;
    of_groups.push_back({first, {}, group});
    for (const int member : group) {
      if (member != first) in_groups.push_back({first, member, {}});
    }
  }
  if (!of_groups.empty()) plan.sums.push_back(std::move(of_groups));
  if (groups.size() > 1) plan.sums.push_back({std::move(total)});
  if (!to_groups.empty()) plan.copies.push_back(std::move(to_groups));
  if (!in_groups.empty()) plan.copies.push_back(std::move(in_groups));
  return plan;
}

}  // namespace belfry
