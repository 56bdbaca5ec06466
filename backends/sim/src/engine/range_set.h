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

/// A set of bytes as sorted, disjoint ranges that never touch: 0 to 4 and 8 to 12, and with 4 to 8
/// the single range 0 to 12. Most sets are a single range, and a sorted vector is faster than a
/// tree.
class RangeSet {
 public:
  /// Forgets earlier calls of make_room.
  void begin_room() { room_ = 0; }
  /// Reserves memory: as many calls of `insert` or `erase` as there were calls of this
  /// function since begin_room need none. Throws: std::bad_alloc.
  void make_room();
  /// Adds the bytes of `range`; an empty range adds nothing.
  void insert(ByteRange range);
  /// Takes the bytes of `range` out.
  void erase(ByteRange range);
  /// The first bytes of `range` outside the set, up to the next byte in the set. Nothing if all
  /// bytes are in the set.
  std::optional<ByteRange> first_gap(ByteRange range) const;
  const std::vector<ByteRange>& ranges() const { return ranges_; }

 private:
  std::vector<ByteRange> ranges_;
  std::size_t room_ = 0;
};

}  // namespace belfry::engine
