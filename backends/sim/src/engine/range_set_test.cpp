// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/range_set.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <tuple>

namespace belfry::engine::range_set_test {
namespace {

constexpr std::size_t kUniverse = 40;

// The same set, one flag a byte.
struct Bitmap {
  bool has[kUniverse] = {};

  void set(std::size_t begin, std::size_t end, bool value) {
    for (std::size_t i = begin; i < end; ++i) has[i] = value;
  }
  std::optional<ByteRange> first_gap(std::size_t begin, std::size_t end) const {
    std::size_t i = begin;
    while (i < end && has[i]) ++i;
    if (i >= end) return std::nullopt;
    std::size_t j = i;
    while (j < end && !has[j]) ++j;
    return ByteRange{i, j};
  }
};

RC_GTEST_PROP(RangeSet, AgreesWithABitmap,
              (const std::vector<std::tuple<bool, std::uint8_t, std::uint8_t>>& changes,
               std::uint8_t from, std::uint8_t to)) {
  RangeSet set;
  Bitmap bitmap;
  for (const auto& [insert, a, b] : changes) {
    const ByteRange range{a % kUniverse, b % kUniverse};
    insert ? set.insert(range) : set.erase(range);
    bitmap.set(range.begin, range.end, insert);
  }
  const std::size_t begin = from % kUniverse;
  const std::size_t end = to % kUniverse;
  RC_ASSERT(set.first_gap({begin, end}) == bitmap.first_gap(begin, end));
  // The canonical form: sorted, not empty, not touching.
  std::size_t last = 0;
  for (const ByteRange& range : set.ranges()) {
    RC_ASSERT(range.begin < range.end);
    RC_ASSERT(range.begin > last || (range.begin == 0 && last == 0));
    last = range.end;
    for (std::size_t i = range.begin; i < range.end; ++i) RC_ASSERT(bitmap.has[i]);
  }
}

TEST(RangeSet, TouchingRangesBecomeOne) {
  RangeSet set;
  set.insert({8, 16});
  set.insert({0, 8});
  EXPECT_EQ(set.ranges(), (std::vector<ByteRange>{{0, 16}}));
}

TEST(RangeSet, NothingIsMissingFromNothing) {
  const RangeSet set;
  EXPECT_EQ(set.first_gap({5, 5}), std::nullopt);
  EXPECT_EQ(set.first_gap({5, 6}), (ByteRange{5, 6}));
}

}  // namespace
}  // namespace belfry::engine::range_set_test
