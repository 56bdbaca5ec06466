// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/addition_order.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

// Inputs of random reductions.
namespace belfry::testing {

template <class T>
using Table = std::vector<std::vector<T>>;

/// Integers of as many bits as the type has, times powers of two. Every sum of 17 inputs is exact
/// in double and finite in the type, and most sums depend on the order.
template <class T>
Table<T> random_inputs(std::size_t members, std::size_t elements, std::uint64_t seed) {
  constexpr int bits = dtype_of<T>() == DType::kFloat32   ? 24
                       : dtype_of<T>() == DType::kFloat16 ? 11
                                                          : 8;
  Table<T> inputs(members);
  for (auto& row : inputs) {
    for (std::size_t i = 0; i < elements; ++i) {
      seed = seed * 6364136223846793005U + 1442695040888963407U;
      const auto fraction = static_cast<int>((seed >> 33) % (1U << bits));
      const auto exponent = static_cast<int>((seed >> 20) % 13U) - 12;
      const int sign = ((seed >> 32) & 1U) == 0 ? 1 : -1;
      row.push_back(T(std::ldexp(static_cast<float>(sign * fraction), exponent)));
    }
  }
  return inputs;
}

}  // namespace belfry::testing
