// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

// Host arithmetic of programs. Rows hold small integers: float arithmetic is exact in any order on
// any device.
namespace belfry::testing {

using Row = std::vector<float>;

inline float quantised(float x) { return std::trunc(std::fmod(x, 512.0F)); }

inline Row quantised(Row row) {
  for (float& x : row) x = quantised(x);
  return row;
}

inline Row plus(Row row, const Row& other) {
  for (std::size_t j = 0; j < row.size(); ++j) row[j] += other[j];
  return row;
}

inline Row plus(Row row, float number) {
  for (float& x : row) x += number;
  return row;
}

inline Row first_row(int replica, int length) {
  Row row;
  for (int j = 0; j < length; ++j) row.push_back(static_cast<float>(replica * 3 + j - 4));
  return row;
}

/// The initial value of a mirrored variable.
inline Row first_mirrored(int length, float start) {
  return plus(Row(static_cast<std::size_t>(length), 0.0F), start);
}

inline float folded_in_order(float so_far, float next) {
  return std::fmod(so_far * 31.0F + next + 600.0F, 8191.0F);
}

}  // namespace belfry::testing
