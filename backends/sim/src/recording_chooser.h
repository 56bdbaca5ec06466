// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/chooser.h"
#include "belfry/sim/schedule.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace belfry::sim {

/// Passes every question on and keeps the answers, a few bytes each, up to a limit.
class RecordingChooser final : public Chooser {
 public:
  /// Keeps at most `limit` choices.
  RecordingChooser(Chooser& inner, std::size_t limit) : inner_(inner), limit_(limit) {}

  std::uint32_t choose(ChoiceKind kind, std::uint32_t count) override {
    if (count == 1) return 0;
    const std::uint32_t value = inner_.choose(kind, count);
    if (++made_ <= limit_) keep(kind, count, value);
    return value;
  }

  /// How many choices there have been, and how many of them are kept: the first ones.
  std::size_t made() const { return made_; }
  std::size_t kept() const { return made_ < limit_ ? made_ : limit_; }
  std::vector<Choice> choices() const;

 private:
  void keep(ChoiceKind kind, std::uint32_t count, std::uint32_t value);

  Chooser& inner_;
  std::size_t limit_;
  std::size_t made_ = 0;
  // A small choice takes two bytes, a large one nine: see keep.
  std::vector<std::uint8_t> bytes_;
};

}  // namespace belfry::sim
