// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/prints.h"
#include "belfry/dtype.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace belfry::testing {

/// Patterns of generated data, simplest first. Elements are computed from a pattern and a seed, not
/// drawn one by one: counterexamples shrink in few steps.
enum class Pattern : std::uint8_t {
  kZeros,
  kOnes,
  kReplicaId,
  kIndex,
  kSmallIntegers,  ///< In [-8, 8], in [0, 16] for unsigned types: every sum is exact.
  kRandom,         ///< Finite; of very different magnitudes for floating-point types.
  kSpecials,       ///< Random with infinities, NaN and zeros of both signs; integers: extremes.
};
inline constexpr int kNumPatterns = 7;  ///< The number of patterns.

/// `zeros`, `ones`, ...
std::string to_string(Pattern pattern);

/// Whether sums of a few hundred values of the pattern are the same in every order: sums are exact
/// in the type of the additions, which is float for 16-bit floats. Sums of integers are always
/// exact.
constexpr bool is_exact(Pattern pattern) { return pattern <= Pattern::kSmallIntegers; }

/// The recipe of a value for each replica.
struct Values {
  Pattern pattern = Pattern::kZeros;  ///< The kind of data.
  std::uint64_t seed = 0;             ///< The seed of the last two patterns.
};

/// `random from seed 7`.
std::string to_string(const Values& values);

/// 64 well mixed bits for an element.
std::uint64_t mixed_bits(std::uint64_t seed, std::uint64_t replica, std::uint64_t index);

/// A finite number with a magnitude that varies over `spread` powers of two around 1.
double wide_number(std::uint64_t bits, int spread);

/// Element `index` of replica `replica`.
template <Element T>
T value_at(const Values& values, int replica, std::size_t index) {
  const auto bits = mixed_bits(values.seed, static_cast<std::uint64_t>(replica), index);
  const auto number = [](auto plain) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(plain);
    else if constexpr (std::is_same_v<T, double>)
      return static_cast<double>(plain);
    else
      return T(static_cast<float>(plain));
  };
  switch (values.pattern) {
    case Pattern::kZeros:
      return number(0);
    case Pattern::kOnes:
      return number(1);
    case Pattern::kReplicaId:
      return number(replica);
    case Pattern::kIndex:
      return number(static_cast<int>(index % 100));
    case Pattern::kSmallIntegers:
      return number(static_cast<int>(bits % 17) - (std::is_unsigned_v<T> ? 0 : 8));
    case Pattern::kRandom:
      if constexpr (std::is_integral_v<T>)
        return static_cast<T>(bits);
      else
        return number(wide_number(bits, 12));
    case Pattern::kSpecials:
      break;
  }
  if constexpr (std::is_integral_v<T>) {
    return bits % 2 == 0 ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min();
  } else {
    const double specials[] = {0.0, -0.0, std::numeric_limits<double>::infinity(),
                               -std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN()};
    return number(bits % 4 == 0 ? specials[(bits >> 8) % 5] : wide_number(bits >> 16, 12));
  }
}

/// The first `count` elements of replica `replica`.
template <Element T>
std::vector<T> values_of(const Values& values, int replica, std::size_t count) {
  std::vector<T> out;
  out.reserve(count);
  for (std::size_t i = 0; i < count; ++i) out.push_back(value_at<T>(values, replica, i));
  return out;
}

using belfry::operator<<;

}  // namespace belfry::testing
