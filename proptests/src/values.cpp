// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/testing/values.h"

#include <cmath>

namespace belfry::testing {

std::string to_string(Pattern pattern) {
  constexpr const char* kNames[kNumPatterns] = {
      "zeros", "ones", "replica ids", "indices", "small integers", "random", "specials"};
  return kNames[static_cast<int>(pattern)];
}

std::string to_string(const Values& values) {
  return to_string(values.pattern) + " from seed " + std::to_string(values.seed);
}

std::uint64_t mixed_bits(std::uint64_t seed, std::uint64_t replica, std::uint64_t index) {
  // The finaliser of SplitMix64 over a position.
  std::uint64_t bits = seed * 0x9e3779b97f4a7c15U + (replica << 40) + index;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebU;
  return bits ^ (bits >> 31);
}

double wide_number(std::uint64_t bits, int spread) {
  const auto fraction = static_cast<double>(bits >> 20) / 0x1p44;  // In [0, 1).
  const int exponent = static_cast<int>(bits % static_cast<std::uint64_t>(spread)) - spread / 2;
  const double magnitude = std::ldexp(1 + fraction, exponent);
  return (bits & 0x80000U) != 0 ? -magnitude : magnitude;
}

}  // namespace belfry::testing
