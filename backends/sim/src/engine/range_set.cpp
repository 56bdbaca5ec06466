// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/range_set.h"

#include <algorithm>

namespace belfry::engine {

void RangeSet::make_room() {
  const std::size_t needed = ranges_.size() + ++room_;
  if (needed > ranges_.capacity()) ranges_.reserve(std::max(needed, 2 * ranges_.capacity()));
}

void RangeSet::insert(ByteRange range) {
  if (range.begin >= range.end) return;
  const auto first = std::ranges::lower_bound(ranges_, range.begin, {}, &ByteRange::end);
  auto last = first;
  while (last != ranges_.end() && last->begin <= range.end) {
    range.begin = std::min(range.begin, last->begin);
    range.end = std::max(range.end, last->end);
    ++last;
  }
  if (first == last) {
    ranges_.insert(first, range);
    return;
  }
  *first = range;
  ranges_.erase(first + 1, last);
}

void RangeSet::erase(ByteRange range) {
  if (range.begin >= range.end) return;
  std::vector<ByteRange> left;
  left.reserve(ranges_.size() + 1);
  for (const ByteRange& have : ranges_) {
    const ByteRange before{have.begin, std::min(have.end, range.begin)};
    const ByteRange after{std::max(have.begin, range.end), have.end};
    if (before.begin < before.end) left.push_back(before);
    if (after.begin < after.end) left.push_back(after);
  }
  ranges_ = std::move(left);
}

std::optional<ByteRange> RangeSet::first_gap(ByteRange range) const {
  if (range.begin >= range.end) return std::nullopt;
  auto have = std::ranges::upper_bound(ranges_, range.begin, {}, &ByteRange::end);
  std::size_t gap = range.begin;
  if (have != ranges_.end() && have->begin <= gap) gap = (have++)->end;
  if (gap >= range.end) return std::nullopt;
  const std::size_t end = have == ranges_.end() ? range.end : std::min(range.end, have->begin);
  return ByteRange{gap, end};
}

}  // namespace belfry::engine
