// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/chooser.h"
#include "engine/digest.h"

#include <cstdint>

namespace belfry::sim {

/// Draws every choice from a counter and a seed: draw n of a seed is the same everywhere, for all
/// earlier questions. A question with a single answer draws nothing.
class RandomChooser final : public Chooser {
 public:
  explicit RandomChooser(std::uint64_t seed)
      : position_(engine::mix(seed, 0x62656C66)), key_(engine::mix(position_, 0x7279) | 1) {}

  std::uint32_t choose(ChoiceKind, std::uint32_t count) override {
    if (count == 1) return 0;
    // The upper half of bits x count is below count, and even to within count / 2^32.
    return static_cast<std::uint32_t>((draw() >> 32) * count >> 32);
  }

 private:
  __extension__ using Wide = unsigned __int128;

  // The fold of a wide product spreads every bit of both factors at the price of a single
  // multiplication.
  std::uint64_t draw() {
    position_ += 0x9E3779B97F4A7C15u;
    const Wide product = Wide{position_} * (position_ ^ key_);
    return static_cast<std::uint64_t>(product >> 64) ^ static_cast<std::uint64_t>(product);
  }

  std::uint64_t position_;
  std::uint64_t key_;
};

}  // namespace belfry::sim
