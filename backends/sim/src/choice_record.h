// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/schedule.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace belfry::sim {

/// The choices of a run, two bytes each for small counts. The first ones, up to a limit.
class ChoiceRecord {
 public:
  explicit ChoiceRecord(std::size_t limit) : limit_(limit) {}

  void add(ChoiceKind kind, std::uint32_t count, std::uint32_t value) {
    if (made_++ >= limit_) return;
    // Kind in two bits, count and value in seven each; a count of 0 announces a large one.
    const std::uint32_t head = static_cast<std::uint32_t>(kind) << 14;
    if (count < 128 && used_ < words_.size()) [[likely]] {
      words_[used_++] = static_cast<std::uint16_t>(head | count << 7 | value);
    } else {
      add_rare(head, count, value);
    }
  }

  /// How many choices there have been, and how many of them are kept.
  std::size_t made() const { return made_; }
  std::size_t kept() const { return made_ < limit_ ? made_ : limit_; }
  std::vector<Choice> choices() const;

 private:
  // Large, or with no room left: apart, so that the usual way through needs no stack.
  void add_rare(std::uint32_t head, std::uint32_t count, std::uint32_t value);

  std::size_t limit_;
  std::size_t made_ = 0;
  std::vector<std::uint16_t> words_;  // With room at the end.
  std::size_t used_ = 0;
};

}  // namespace belfry::sim
