// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/range_set.h"

#include <algorithm>
#include <iterator>

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
  auto to = std::ranges::upper_bound(ranges_, range.begin, {}, &ByteRange::end);
  auto last = to;
  while (last != ranges_.end() && last->begin < range.end) ++last;
  if (to == last) return;
  const ByteRange before{to->begin, range.begin};
  const ByteRange after{range.end, std::prev(last)->end};
  if (before.begin < before.end) *to++ = before;
  if (after.begin < after.end) {
    if (to == last) {
      ranges_.insert(to, after);
      return;
    }
    *to++ = after;
  }
  ranges_.erase(to, last);
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
