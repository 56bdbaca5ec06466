// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace belfry::sim::races {

/// The number of a chain of happenings in a fixed order.
using Lane = std::uint32_t;

/// A vector clock: for each lane, the number of happenings that come before a point in every
/// schedule. Copies share their numbers until a copy changes.
class Clock {
 public:
  std::uint32_t at(Lane lane) const {
    return numbers_ != nullptr && lane < numbers_->size() ? (*numbers_)[lane] : 0;
  }
  void set(Lane lane, std::uint32_t number);
  /// Adds everything before the point of `other`.
  void join(const Clock& other);

 private:
  std::vector<std::uint32_t>& own();

  std::shared_ptr<std::vector<std::uint32_t>> numbers_;  // Shared by copies; null: all are 0.
};

}  // namespace belfry::sim::races
