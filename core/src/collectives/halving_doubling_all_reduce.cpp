// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/planned_all_reduce.h"

#include <algorithm>
#include <bit>
#include <utility>

// Four members and the chunks a, b, c and d. ab01 is the sum of the chunks a and b of members 0 and
// 1. In each sum step a member gives away half of its chunks and adds up the other half:
//
//             member 0    member 1    member 2    member 3
//   sum 1     ab01        cd01        ab23        cd23        0 and 1 exchange, 2 and 3
//   sum 2     a0123       c0123       b0123       d0123       0 and 2 exchange, 1 and 3
//   copy 1    ab0123      cd0123      ab0123      cd0123      0 and 2 exchange, 1 and 3
//   copy 2    all         all         all         all         0 and 1 exchange, 2 and 3
//
// Of six members, 0 and 1 form a pair, and 2 and 3: the members 0, 2, 4 and 5 do these steps, after
// a step in which 0 adds the tensor of 1, and 2 the tensor of 3; 1 and 3 get the result last.
namespace belfry {
namespace {

int greatest_power_of_two(int n) {
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(n)));
}

// The members that halve and double: the lower members of the first pairs, then all single members.
std::vector<int> active_members(int members) {
  const int pairs = members - greatest_power_of_two(members);
  std::vector<int> active;
  for (int pair = 0; pair < pairs; ++pair) active.push_back(2 * pair);
  for (int member = 2 * pairs; member < members; ++member) active.push_back(member);
  return active;
}

// The chunks of an active member before the step with this distance: halved in every earlier step.
ChunkRange chunks_of(int place, int distance, int chunks) {
  ChunkRange range{0, chunks};
  for (int d = 1; d < distance; d *= 2) {
    range.count /= 2;
    if ((place & d) != 0) range.first += range.count;
  }
  return range;
}

}  // namespace

ReductionOrder HalvingDoublingAllReduce::order(ReplicaDevices& devices) const {
  const bool is_power_of_two = std::has_single_bit(static_cast<unsigned>(devices.size()));
  return is_power_of_two ? ReductionOrder::kTree : ReductionOrder::kUnspecified;
}

std::optional<ReductionPlan> HalvingDoublingAllReduce::plan(int members) const {
  const std::vector<int> active = active_members(members);
  const auto places = static_cast<int>(active.size());
  const auto member = [&](int place) { return active[static_cast<std::size_t>(place)]; };
  ReductionPlan plan{.members = members, .chunks = places};
  std::vector<ReductionPlan::Sum> pairs;
  std::vector<ReductionPlan::Copy> back;
  for (int lower = 0; lower < 2 * (members - places); lower += 2) {
    pairs.push_back({lower, {0, places}, {lower, lower + 1}});
    back.push_back({lower, lower + 1, {0, places}});
  }
  if (!pairs.empty()) plan.sums.push_back(std::move(pairs));
  for (int distance = 1; distance < places; distance *= 2) {
    std::vector<ReductionPlan::Sum> sums;
    std::vector<ReductionPlan::Copy> copies;
    for (int place = 0; place < places; ++place) {
      const int partner = place ^ distance;
      const int lower = std::min(member(place), member(partner));
      const int upper = std::max(member(place), member(partner));
      sums.push_back({member(place), chunks_of(place, 2 * distance, places), {lower, upper}});
      copies.push_back({member(partner), member(place), chunks_of(partner, 2 * distance, places)});
    }
    plan.sums.push_back(std::move(sums));
    plan.copies.push_back(std::move(copies));
  }
  std::ranges::reverse(plan.copies);
  if (!back.empty()) plan.copies.push_back(std::move(back));
  return plan;
}

}  // namespace belfry
