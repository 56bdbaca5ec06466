// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/schedule.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace belfry::sim {

/// The first choices of a run, up to a limit and while memory is available. A choice takes a word
/// of 16 bits, and rarely five words:
///
///     bits 14 and 15 the kind, 7 to 13 the count, 0 to 6 the value: agent 2 of 5 is 0, 5, 2
///     a count of 128 or more: the kind with a count of 0, then count and value in two words each
class ChoiceRecord {
 public:
  explicit ChoiceRecord(std::size_t limit) : limit_(limit) {}

  /// Returns `value`.
  std::uint32_t add(ChoiceKind kind, std::uint32_t count, std::uint32_t value) {
    if (made_++ >= limit_) return value;
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
  // For large counts, and without free memory. Apart: the usual path needs no stack then.
  std::uint32_t add_rare(std::uint32_t head, std::uint32_t count, std::uint32_t value);

  std::size_t limit_;
  std::size_t made_ = 0;
  std::vector<std::uint16_t> words_;  // As many as `room_`; the first `used_` have choices.
  std::size_t room_ = 0;
  std::size_t used_ = 0;
};

}  // namespace belfry::sim
