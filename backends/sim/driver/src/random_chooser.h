// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/chooser.h"

#include <cstdint>

namespace belfry::driver {

/// Choices from a seed: SplitMix64. Seed 0 always takes the first.
class RandomChooser final : public Chooser {
 public:
  explicit RandomChooser(std::uint64_t seed) : seeded_(seed != 0), state_(seed) {}

  std::uint32_t choose(ChoiceKind /*kind*/, std::uint32_t count) override {
    if (!seeded_ || count <= 1) return 0;
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t x = state_;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return static_cast<std::uint32_t>((x ^ (x >> 31)) % count);
  }

 private:
  bool seeded_;
  std::uint64_t state_;
};

}  // namespace belfry::driver
