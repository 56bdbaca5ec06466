// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "races/access_history.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

namespace belfry::sim::races::access_history_test {
namespace {

constexpr std::uint32_t kLanes = 4;

using Conflict = std::tuple<Lane, std::uint32_t, std::uint64_t, std::uint64_t, bool>;

Conflict row_of(const BufferAccess& access) {
  return {access.lane, access.number, access.begin, access.end, access.writes};
}

// The definition: every pair of accesses is compared, but for the accesses that a write of all
// their bytes follows, and reads of a lane that the lane repeats.
class EachPair {
 public:
  std::vector<Conflict> add(const BufferAccess& access, const Clock& before) {
    std::vector<Conflict> conflicts;
    if (access.begin == access.end) return conflicts;
    std::vector<BufferAccess> kept;
    for (const bool of_writes : {true, false}) {
      for (const BufferAccess& earlier : accesses_) {
        if (earlier.writes != of_writes) continue;
        const bool apart = earlier.end <= access.begin || access.end <= earlier.begin;
        const bool both_read = !earlier.writes && !access.writes;
        const bool known = earlier.lane == access.lane || before.at(earlier.lane) >= earlier.number;
        const bool covered = access.begin <= earlier.begin && earlier.end <= access.end;
        const bool repeated = both_read && earlier.lane == access.lane &&
                              earlier.begin == access.begin && earlier.end == access.end;
        if (!apart && !both_read && !known) conflicts.push_back(row_of(earlier));
        const bool replaced = access.writes && covered && known;
        if (!replaced && !repeated) kept.push_back(earlier);
      }
    }
    accesses_ = kept;
    accesses_.push_back(access);
    return conflicts;
  }

 private:
  std::vector<BufferAccess> accesses_;
};

RC_GTEST_PROP(AccessHistory, ReportsTheConflictsOfEachPair, ()) {
  const auto bytes = *rc::gen::element<std::uint64_t>(4, 40, 5000);
  const int count = *rc::gen::inRange(1, 200);
  AccessHistory history;
  EachPair pairs;
  std::vector<Clock> clocks(kLanes);
  std::vector<std::uint32_t> numbers(kLanes, 0);
  for (int i = 0; i < count; ++i) {
    const auto lane = *rc::gen::inRange<Lane>(0, kLanes);
    // Often a neighbour's clock: the lane then follows the work there.
    if (*rc::gen::inRange(0, 3) > 0) clocks[lane].join(clocks[*rc::gen::inRange<Lane>(0, kLanes)]);
    BufferAccess access;
    access.lane = lane;
    access.number = ++numbers[lane];
    access.writes = *rc::gen::arbitrary<bool>();
    access.begin = *rc::gen::inRange<std::uint64_t>(0, bytes);
    access.end = *rc::gen::weightedOneOf<std::uint64_t>(
        {{3, rc::gen::just(std::min(bytes, access.begin + 3))},
         {1, rc::gen::inRange<std::uint64_t>(access.begin, bytes + 1)}});
    std::vector<Conflict> found;
    history.add(access, clocks[lane], [&](const BufferAccess& first, const BufferAccess& second) {
      RC_ASSERT(row_of(second) == row_of(access));
      found.push_back(row_of(first));
    });
    std::vector<Conflict> expected = pairs.add(access, clocks[lane]);
    std::ranges::sort(found);
    std::ranges::sort(expected);
    RC_ASSERT(found == expected);
    clocks[lane].add(lane, access.number);
  }
}

}  // namespace
}  // namespace belfry::sim::races::access_history_test
