// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "examples.h"

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

/// Inputs of tests: a drawn seed stands for all numbers.
namespace own_training {

/// Multiples of limit / 64 from -limit to limit: zeros and equal numbers occur.
inline std::vector<float> numbers(int count, std::uint32_t seed, float limit = 2) {
  std::mt19937 random(seed);
  std::vector<float> result(static_cast<std::size_t>(count));
  for (float& x : result) x = limit / 64 * (static_cast<float>(random() % 129) - 64);
  return result;
}

inline std::vector<std::int32_t> drawn_labels(int count, int classes, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::int32_t> result(static_cast<std::size_t>(count));
  for (std::int32_t& x : result) {
    x = static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(classes));
  }
  return result;
}

inline Examples drawn_examples(int count, int inputs, int classes, std::uint32_t seed) {
  return {inputs, numbers(count * inputs, seed), drawn_labels(count, classes, seed + 1)};
}

}  // namespace own_training
