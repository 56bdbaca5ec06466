// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>

namespace belfry::kernels {

/// The innermost part of a matrix product: a tile of sums that fits the vector registers.
template <class A>
struct MatmulTile {
  static constexpr std::size_t kLanes = 16 / sizeof(A);
  // 12 sums, a row of 2, a factor and a product: the 16 registers of the baseline.
  static constexpr std::size_t kVectors = 2;
  static constexpr std::size_t kRows = 6;
  static constexpr std::size_t kColumns = kVectors * kLanes;

  /// sums += left * right: `left` has kRows and `right` kColumns elements for each inner index.
  static void multiply(const A* left, const A* right, std::size_t depth, A* sums,
                       std::size_t stride) {
    Vector tile[kRows][kVectors];
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t v = 0; v < kVectors; ++v) {
        std::memcpy(&tile[r][v], sums + r * stride + v * kLanes, sizeof(Vector));
      }
    }
    for (std::size_t k = 0; k < depth; ++k, left += kRows, right += kColumns) {
      Vector row[kVectors];
      for (std::size_t v = 0; v < kVectors; ++v) {
        std::memcpy(&row[v], right + v * kLanes, sizeof(Vector));
      }
      for (std::size_t r = 0; r < kRows; ++r) {
        for (std::size_t v = 0; v < kVectors; ++v) tile[r][v] += left[r] * row[v];
      }
    }
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t v = 0; v < kVectors; ++v) {
        std::memcpy(sums + r * stride + v * kLanes, &tile[r][v], sizeof(Vector));
      }
    }
  }

 private:
  using Vector [[gnu::vector_size(16)]] = A;
};

}  // namespace belfry::kernels
