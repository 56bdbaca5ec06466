// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "host/lost_bytes.h"

#include <algorithm>
#include <utility>

namespace belfry::host {
namespace {

bool overlaps(const LostBytes::Range& range, std::size_t begin, std::size_t end) {
  return begin < end && range.begin < end && begin < range.end;
}

}  // namespace

std::exception_ptr LostBytes::reason(std::size_t begin, std::size_t end) const {
  const auto found = std::ranges::find_if(
      ranges_, [&](const Range& range) { return overlaps(range, begin, end); });
  return found == ranges_.end() ? nullptr : found->reason;
}

void LostBytes::lose(std::size_t begin, std::size_t end, const std::exception_ptr& reason,
                     Room& room) noexcept {
  if (begin == end) return;
  room.front() = {begin, end, reason};
  ranges_.splice(ranges_.begin(), room, room.begin());
}

// A range beyond both ends is split in two.
void LostBytes::restore(std::size_t begin, std::size_t end) {
  if (ranges_.empty() || begin == end) return;
  const auto is_split = [&](const Range& range) { return range.begin < begin && end < range.end; };
  Room room(static_cast<std::size_t>(std::ranges::count_if(ranges_, is_split)));
  for (auto at = ranges_.begin(); at != ranges_.end();) {
    const auto range = at++;
    if (!overlaps(*range, begin, end)) continue;
    if (is_split(*range)) {
      room.front() = {end, range->end, range->reason};
      ranges_.splice(at, room, room.begin());
      range->end = begin;
    } else if (range->begin < begin) {
      range->end = begin;
    } else if (end < range->end) {
      range->begin = end;
    } else {
      ranges_.erase(range);
    }
  }
}

}  // namespace belfry::host
