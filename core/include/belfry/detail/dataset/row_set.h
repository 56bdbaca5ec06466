// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/compiler.h"

#include <cstdint>
#include <vector>

namespace belfry::detail {

/// The rows `begin` to before `end` of a dataset.
struct RowRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Rows of a dataset, by their numbers from 0: ranges with rows, in order, with gaps between them.
class RowSet {
 public:
  const std::vector<RowRange>& ranges() const { return ranges_; }
  bool empty() const { return ranges_.empty(); }
  /// The rows from 0 on, up to the first row that is not in the set.
  std::int64_t front() const;
  /// Adds rows behind all rows of the set.
  void add(std::int64_t begin, std::int64_t end);

  /// The rows of part `part` of `parts`, row `part + i * parts` under the number i.
  RowSet of_part(int parts, int part) const;
  /// The set with the next `more[k]` rows of each part k that are not in the set.
  RowSet with_next(std::vector<std::int64_t> more) const;

 private:
  std::vector<RowRange> ranges_;
};

}  // namespace belfry::detail
