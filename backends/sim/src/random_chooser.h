// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/chooser.h"
#include "engine/digest.h"

#include <cstdint>

namespace belfry::sim {

/// Draws every choice from a counter and a seed: choice n of a seed is the same everywhere,
/// whatever was asked before.
class RandomChooser final : public Chooser {
 public:
  explicit RandomChooser(std::uint64_t seed) : key_(engine::mix(seed, 0x62656C66)) {}

  std::uint32_t choose(ChoiceKind, std::uint32_t count) override {
    if (count == 1) return 0;
    // The upper half of bits x count is below count, and even to within count / 2^32.
    const std::uint64_t bits = engine::mix(key_, ++drawn_) >> 32;
    return static_cast<std::uint32_t>(bits * count >> 32);
  }

 private:
  std::uint64_t key_;
  std::uint64_t drawn_ = 0;
};

}  // namespace belfry::sim
