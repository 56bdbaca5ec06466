// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/dataset/row_set.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

namespace belfry::detail {

std::int64_t RowSet::front() const {
  return empty() || ranges_.front().begin > 0 ? 0 : ranges_.front().end;
}

void RowSet::add(std::int64_t begin, std::int64_t end) {
  if (begin == end) return;
  if (!empty() && ranges_.back().end == begin) {
    ranges_.back().end = end;
  } else {
    ranges_.push_back({begin, end});
  }
}

RowSet RowSet::of_part(int parts, int part) const {
  const auto rows_before = [&](std::int64_t row) { return (row - part + parts - 1) / parts; };
  RowSet own;
  for (const RowRange& range : ranges_) own.add(rows_before(range.begin), rows_before(range.end));
  return own;
}

RowSet RowSet::with_next(std::vector<std::int64_t> more) const {
  const auto parts = static_cast<std::int64_t>(more.size());
  RowSet all;
  std::int64_t row = 0;
  auto next = ranges_.begin();
  while (std::ranges::any_of(more, [](std::int64_t rows) { return rows > 0; })) {
    if (next != ranges_.end() && row == next->begin) {
      row = next->end;
      all.add(next->begin, next->end);
      ++next;
      continue;
    }
    const std::int64_t gap =
        (next == ranges_.end() ? std::numeric_limits<std::int64_t>::max() : next->begin) - row;
    // Each part has a row among `parts` neighbouring rows.
    const std::int64_t rounds = std::min(*std::ranges::min_element(more), gap / parts);
    if (rounds > 0) {
      for (std::int64_t& rows : more) rows -= rounds;
      all.add(row, row + rounds * parts);
      row += rounds * parts;
      continue;
    }
    std::int64_t& rows = more[static_cast<std::size_t>(row % parts)];
    if (rows > 0) {
      all.add(row, row + 1);
      --rows;
    }
    ++row;
  }
  for (; next != ranges_.end(); ++next) all.add(next->begin, next->end);
  return all;
}

}  // namespace belfry::detail
