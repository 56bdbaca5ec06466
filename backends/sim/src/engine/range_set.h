// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace belfry::engine {

/// Bytes from `begin` up to, not including, `end`.
struct ByteRange {
  std::size_t begin = 0;
  std::size_t end = 0;

  bool operator==(const ByteRange&) const = default;
};

/// A set of bytes, kept as sorted, disjoint, never touching ranges. Most sets are one range, so a
/// sorted vector beats a tree.
class RangeSet {
 public:
  /// Makes room, so that the next `count` calls of `insert` need no memory. Throws: std::bad_alloc.
  void make_room(std::size_t count);
  /// Adds the bytes of `range`; an empty range adds nothing.
  void insert(ByteRange range);
  /// Takes the bytes of `range` out.
  void erase(ByteRange range);
  /// The first bytes of `range` that are not in the set, up to the next byte that is; nothing when
  /// all are.
  std::optional<ByteRange> first_gap(ByteRange range) const;
  const std::vector<ByteRange>& ranges() const { return ranges_; }

 private:
  std::vector<ByteRange> ranges_;
};

}  // namespace belfry::engine
