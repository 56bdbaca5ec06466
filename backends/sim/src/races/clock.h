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
/// How clocks of many lanes stay cheap. Copies share a table, and a clock has a few numbers beside
/// the table: the clocks of a device between two collectives differ in few lanes. Two clocks that
/// end at happenings are compared by these happenings, and a table knows the table from which it
/// was copied. Only clocks without such a relation are compared lane by lane.
class Clock {
 public:
  std::uint32_t at(Lane lane) const {
    const Happening* const own = own_of(lane);
    return own != nullptr ? own->number : in_table(lane);
  }
  /// Adds everything up to happening `number` of `lane`; what comes before the happening is added
  /// already.
  void add(Lane lane, std::uint32_t number) {
    last_ = {};
    raise({lane, number});
  }
  /// The clock is that of `last`, which is added already: every clock with `last` has everything
  /// that this clock has.
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
  static constexpr std::size_t kOwn = 5;
  struct Part {
    std::uint32_t owners = 0;
    std::array<std::uint32_t, kLanes> lanes{};
  };
  struct Table {
    std::uint32_t owners = 0;
    std::vector<Ref<Part>> parts{};  // Null: all are 0.
    Ref<Table> origin{};  // No number of this table is below the origin's. Null: not known.
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

  bool is_empty() const { return table_.get() == nullptr && own_count_ == 0; }
  const Happening* own_of(Lane lane) const {
    const auto* const end = own_.data() + own_count_;
    const auto* const found =
        std::find_if(own_.data(), end, [lane](const Happening& own) { return own.lane == lane; });
    return found == end ? nullptr : found;
  }
  std::uint32_t in_table(Lane lane) const {
    if (table_.get() == nullptr || lane / kLanes >= table_->parts.size()) return 0;
    const Part* const part = table_->parts[lane / kLanes].get();
    return part == nullptr ? 0 : part->lanes[lane % kLanes];
  }
  bool has_last_of(const Clock& other) const {
    return other.last_.number != 0 && at(other.last_.lane) >= other.last_.number;
  }
  void raise(const Happening& to);
  void join_table(const Ref<Table>& other);
  void join_parts(const Table& other);
  void take_table(const Ref<Table>& other);
  void move_own_to_table();
  Table& own_table();
  Part& own_part(std::size_t index);

  Ref<Table> table_;  // Null: all numbers are 0.
  // The numbers above those of the table.
  std::array<Happening, kOwn> own_{};
  std::uint32_t own_count_ = 0;
  Happening last_{};
};

}  // namespace belfry::sim::races
