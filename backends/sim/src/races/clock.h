// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "races/ref.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace belfry::sim::races {

/// The number of a chain of happenings in a fixed order.
using Lane = std::uint32_t;

/// A happening: its lane, and its number there.
struct Happening {
  Lane lane = 0;
  std::uint32_t number = 0;  ///< From 1; 0: none.
};

/// A vector clock: for each lane, the number of happenings that come before a point in every
/// schedule. A single thread at a time uses a clock and its copies.
///
/// Representation. A clock is a table with a number for each lane, and up to five pending numbers,
/// each above the number of its lane in the table:
///
///     at(lane) = the pending number of the lane, if there is one; else the number in the table
///
/// Copies share the table, and a shared table never changes. With 3, 1, 0, 0, 0, 0 in the table,
/// for example, after `b = a; b.add(2, 5)` both clocks have this table, and b has lane 2 at 5
/// pending. Only a sixth pending number makes b copy the table, in parts of 32 lanes;
/// unchanged parts stay shared.
///
/// Why this is cheap. After a collective all its members have one clock, hence one table. In the
/// time up to the next collective each member goes on in few lanes, hence in pending numbers. Two
/// shortcuts then spare most comparisons lane by lane:
///
/// - A copied table names the table from which it was copied, its origin. Numbers only rise: the
///   table covers its origin, without a look at the numbers.
/// - `end_at(h)`: the clock is the clock at happening h, with everything before h and nothing else.
///   Every clock with h covers this clock: a comparison of a single number.
class Clock {
 public:
  std::uint32_t at(Lane lane) const {
    const Happening* const pending = pending_of(lane);
    return pending != nullptr ? pending->number : in_table(lane);
  }
  /// Raises `lane` to happening `number`. The caller has joined everything that comes before this
  /// happening.
  void add(Lane lane, std::uint32_t number) {
    last_ = {};
    raise({lane, number});
  }
  /// Declares the clock to be the clock at `last`. Assumes that `last` is added, and that a clock
  /// gets `last` together with all of this clock. The next `add`, or `join` with news, ends the
  /// declaration.
  void end_at(const Happening& last) { last_ = last; }
  /// Adds everything before the point of `other`.
  void join(const Clock& other);
  void join(Clock&& other) {
    if (is_empty()) {
      *this = std::exchange(other, {});
    } else {
      join(other);
    }
  }

 private:
  static constexpr std::size_t kLanes = 32;
  static constexpr std::size_t kPending = 5;
  struct Part {
    std::uint32_t owners = 0;
    std::array<std::uint32_t, kLanes> lanes{};
  };
  struct Table {
    std::uint32_t owners = 0;
    std::vector<Ref<Part>> parts{};  // Null: all are 0.
    // The table from which this table was copied: no number here is below the number there. Null in
    // a first table, and in a table with copies: a table keeps a single older table in memory.
    Ref<Table> origin{};
  };
  struct Relation {
    bool covers = true;      // No number is below the number of the second part,
    bool is_covered = true;  // and none is above.
  };

  static Relation relation(const Part* first, const Part* second);
  static Relation relation(const Table& first, const Table& second);
  static const Part* part_of(const Table& table, std::size_t index) {
    return index < table.parts.size() ? table.parts[index].get() : nullptr;
  }

  bool is_empty() const { return table_.get() == nullptr && pending_count_ == 0; }
  const Happening* pending_of(Lane lane) const {
    const auto* const end = pending_.data() + pending_count_;
    const auto* const found = std::find_if(
        pending_.data(), end, [lane](const Happening& pending) { return pending.lane == lane; });
    return found == end ? nullptr : found;
  }
  std::uint32_t in_table(Lane lane) const {
    if (table_.get() == nullptr || lane / kLanes >= table_->parts.size()) return 0;
    const Part* const part = table_->parts[lane / kLanes].get();
    return part == nullptr ? 0 : part->lanes[lane % kLanes];
  }
  // Whether this clock has the last happening of `other`, hence all of `other`.
  bool includes_end_of(const Clock& other) const {
    return other.last_.number != 0 && at(other.last_.lane) >= other.last_.number;
  }
  void raise(const Happening& to);
  void join_table(const Ref<Table>& other);
  void join_parts(const Table& other);
  void take_table(const Ref<Table>& other);
  void move_pending_to_table();
  Table& writable_table();
  Part& writable_part(std::size_t index);

  Ref<Table> table_;  // Null: all numbers are 0.
  // Numbers above those of the table, which is shared: not yet written to a table.
  std::array<Happening, kPending> pending_{};
  std::uint32_t pending_count_ = 0;
  Happening last_{};
};

}  // namespace belfry::sim::races
