// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace belfry::cuda::test {

/// Numbers from -1 to 1 without an order, a list for each `seed`.
inline std::vector<float> numbers(std::size_t count, std::uint32_t seed) {
  std::vector<float> list;
  std::uint32_t bits = 2 * seed + 1;
  for (std::size_t i = 0; i < count; ++i) {
    bits = bits * 1664525U + 1013904223U;
    list.push_back(static_cast<float>(bits >> 8U) / float{1U << 23U} - 1);
  }
  return list;
}

/// Half the distance from 1 to the next float32: no rounding changes a number by a larger part.
inline constexpr double kUnit = 0x1p-24;

}  // namespace belfry::cuda::test
