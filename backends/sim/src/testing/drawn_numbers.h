// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace belfry::sim::testing {

/// A sequence of numbers from a seed, the same on every machine.
class DrawnNumbers {
 public:
  /// Equal seeds give equal sequences.
  explicit DrawnNumbers(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}

  /// The next number, from 0 to `count` - 1.
  std::size_t below(std::size_t count) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<std::size_t>((state_ >> 32) * count >> 32);
  }
  /// True once in `count` times.
  bool one_in(std::size_t count) { return below(count) == 0; }

 private:
  std::uint64_t state_;
};

}  // namespace belfry::sim::testing
