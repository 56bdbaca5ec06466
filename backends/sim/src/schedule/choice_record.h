// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/schedule.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace belfry::sim {

/// The choices of a run, two bytes each for small counts. Keeps the first choices, up to a limit
/// and while memory is available.
class ChoiceRecord {
 public:
  explicit ChoiceRecord(std::size_t limit) : limit_(limit) {}

  /// Returns `value`.
  std::uint32_t add(ChoiceKind kind, std::uint32_t count, std::uint32_t value) {
    if (made_++ >= limit_) return value;
    // Kind in two bits, count and value in seven each. A count of 0 announces a large count.
    const std::uint32_t head = static_cast<std::uint32_t>(kind) << 14;
    if (count >= 128 || used_ >= room_) [[unlikely]] {
      return add_rare(head, count, value);
    }
    words_[used_++] = static_cast<std::uint16_t>(head | count << 7 | value);
    return value;
  }

  /// The numbers of choices made and of choices kept.
  std::size_t made() const { return made_; }
  std::size_t kept() const { return made_ < limit_ ? made_ : limit_; }
  std::vector<Choice> choices() const;

 private:
  // For large counts, and without free memory. Apart, for the usual path needs no stack then.
  std::uint32_t add_rare(std::uint32_t head, std::uint32_t count, std::uint32_t value);

  std::size_t limit_;
  std::size_t made_ = 0;
  std::vector<std::uint16_t> words_;  // `room_` of them,
  std::size_t room_ = 0;
  std::size_t used_ = 0;  // of which so many mean something.
};

}  // namespace belfry::sim
