// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "races/ref.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace belfry::sim::races {

/// The number of a chain of happenings in a fixed order.
using Lane = std::uint32_t;

/// A vector clock: for each lane, the number of happenings that come before a point in every
/// schedule. Copies share their numbers, in parts of a few lanes, until a copy changes: clocks of
/// many lanes that differ in few lanes take little room, and are joined fast. A single thread at a
/// time uses a clock and its copies.
class Clock {
 public:
  std::uint32_t at(Lane lane) const {
    if (numbers_.get() == nullptr || lane / kLanes >= numbers_->parts.size()) return 0;
    const Part* const part = numbers_->parts[lane / kLanes].get();
    return part == nullptr ? 0 : part->lanes[lane % kLanes];
  }
  void set(Lane lane, std::uint32_t number) {
    own_part(lane / kLanes).lanes[lane % kLanes] = number;
  }
  /// Adds everything before the point of `other`.
  void join(const Clock& other);
  void join(Clock&& other) {
    if (numbers_.get() == nullptr) {
      numbers_ = std::move(other.numbers_);
    } else {
      join(other);
    }
  }

 private:
  static constexpr std::size_t kLanes = 32;
  struct Part {
    std::uint32_t owners = 0;
    std::array<std::uint32_t, kLanes> lanes{};
  };
  struct Numbers {
    std::uint32_t owners = 0;
    std::vector<Ref<Part>> parts{};  // Null: all are 0.
  };
  struct Relation {
    bool covers = true;      // No number is below the number of the second part,
    bool is_covered = true;  // and none is above.
  };

  static Relation relation(const Part* first, const Part* second);
  static const Part* part_of(const Numbers& numbers, std::size_t index) {
    return index < numbers.parts.size() ? numbers.parts[index].get() : nullptr;
  }
  Numbers& own_numbers();
  Part& own_part(std::size_t index);
  void join_parts(const Numbers& other);

  Ref<Numbers> numbers_;  // Null: all are 0.
};

}  // namespace belfry::sim::races
