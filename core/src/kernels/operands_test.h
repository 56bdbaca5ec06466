// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/host_kernels.h"
#include "belfry/backend/kernel.h"
#include "belfry/dtype.h"

#include <gtest/gtest.h>
#include <Eigen/Core>
#include <rapidcheck.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <ostream>
#include <type_traits>
#include <vector>

/// Operands of kernels under test. Properties draw a shape, a pattern and a seed, never elements.
namespace belfry::testing {

/// Kinds of contents, simplest first: shrinking ends at simple contents.
enum class Pattern { kZeros, kOnes, kIndex, kSmallIntegers, kUnitInterval, kAnyBits };

inline void showValue(Pattern pattern, std::ostream& os) {
  static constexpr const char* kNames[] = {"zeros",          "ones",          "index",
                                           "small integers", "unit interval", "any bits"};
  os << kNames[static_cast<int>(pattern)];
}

inline rc::Gen<Pattern> any_pattern() {
  return rc::gen::element(Pattern::kZeros, Pattern::kOnes, Pattern::kIndex, Pattern::kSmallIntegers,
                          Pattern::kUnitInterval, Pattern::kAnyBits);
}

/// A well-mixed function of two numbers (the finalizer of SplitMix64).
inline std::uint64_t mixed(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed * 0x9e3779b97f4a7c15U + (index + 1) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

template <class T>
inline constexpr bool kIsFloat =
    std::is_floating_point_v<T> || std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

/// bool lies in memory as a byte of any value.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

template <class T>
Stored<T> element_of(Pattern pattern, std::uint64_t seed, std::uint64_t index) {
  const std::uint64_t bits = mixed(seed, index);
  if (pattern == Pattern::kAnyBits) {
    Stored<T> any;
    std::memcpy(static_cast<void*>(&any), &bits, sizeof(any));
    return any;
  }
  const auto small = static_cast<std::int64_t>(bits % 17) - (std::is_signed_v<T> ? 8 : 0);
  const double values[] = {
      0, 1, static_cast<double>(index % 100), static_cast<double>(small),
      kIsFloat<T> ? static_cast<double>(bits >> 40) * 0x1p-24 : static_cast<double>(bits % 2)};
  const double value = values[static_cast<int>(pattern)];
  if constexpr (kIsFloat<T>) {
    return static_cast<T>(static_cast<float>(value));
  } else {
    return static_cast<Stored<T>>(static_cast<std::int64_t>(value));
  }
}

/// Elements from `offset` elements after an aligned address on.
template <class T>
class Elements {
 public:
  explicit Elements(std::size_t count, std::size_t offset = 0) : offset_(offset), count_(count) {
    storage_.resize((offset + count + 1) * sizeof(T) / sizeof(std::max_align_t) + 1);
  }
  Elements(std::size_t count, Pattern pattern, std::uint64_t seed, std::size_t offset = 0)
      : Elements(count, offset) {
    for (std::size_t i = 0; i < count; ++i) data()[i] = element_of<T>(pattern, seed, i);
  }

  Stored<T>* data() { return reinterpret_cast<Stored<T>*>(storage_.data()) + offset_; }
  const Stored<T>* data() const {
    return reinterpret_cast<const Stored<T>*>(storage_.data()) + offset_;
  }
  Stored<T>& operator[](std::size_t i) { return data()[i]; }
  const Stored<T>& operator[](std::size_t i) const { return data()[i]; }
  std::size_t count() const { return count_; }
  KernelOperand operand() const { return {const_cast<Stored<T>*>(data()), count_, dtype_of<T>()}; }

 private:
  std::vector<std::max_align_t> storage_;
  std::size_t offset_;
  std::size_t count_;
};

/// The value of a 16-bit float by a second implementation; the value itself for other types.
template <class T>
auto value_of(T x) {
  if constexpr (std::is_same_v<T, Float16>) {
    return static_cast<float>(Eigen::numext::bit_cast<Eigen::half>(x.bits));
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return static_cast<float>(Eigen::numext::bit_cast<Eigen::bfloat16>(x.bits));
  } else {
    return x;
  }
}

/// A float rounded to a 16-bit type by a second implementation.
template <class T, class V>
T rounded_to(V value) {
  if constexpr (std::is_same_v<T, Float16>) {
    return Float16::from_bits(Eigen::numext::bit_cast<std::uint16_t>(Eigen::half(value)));
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return BFloat16::from_bits(Eigen::numext::bit_cast<std::uint16_t>(Eigen::bfloat16(value)));
  } else {
    return static_cast<T>(value);
  }
}

template <class T>
std::uint64_t bits_of(T x) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &x, sizeof(x));
  return bits;
}

/// The NaN that kernels compute.
template <class T>
std::uint64_t nan_bits() {
  if constexpr (std::is_same_v<T, double>) return 0x7ff8000000000000U;
  if constexpr (std::is_same_v<T, float>) return 0x7fc00000U;
  if constexpr (std::is_same_v<T, Float16>) return 0x7e00U;
  if constexpr (std::is_same_v<T, BFloat16>) return 0x7fc0U;
  return 0;
}

/// Equal bits. An expected NaN stands for the NaN that kernels compute.
template <class T>
bool is_result(T actual, T expected) {
  if constexpr (kIsFloat<T>) {
    if (std::isnan(static_cast<double>(value_of(expected)))) {
      return bits_of(actual) == nan_bits<T>();
    }
  }
  return bits_of(actual) == bits_of(expected);
}

/// Fails the running property where an element is not as expected.
template <class T, class Expected>
void assert_elements(const Elements<T>& actual, const Expected& expected_at) {
  for (std::size_t i = 0; i < actual.count(); ++i) {
    const Stored<T> expected = expected_at(i);
    if (!is_result<Stored<T>>(actual[i], expected)) {
      RC_LOG() << to_string(dtype_of<T>()) << " element " << i << ": got bits " << std::hex
               << bits_of(actual[i]) << ", expected " << bits_of(expected) << std::dec;
      RC_FAIL("wrong element");
    }
  }
}

/// Calls `function` with a null pointer of each type.
template <class... Ts, class Function>
void for_each_type(Function&& function) {
  (function(static_cast<Ts*>(nullptr)), ...);
}

template <class Function>
void for_numeric_types(Function&& function) {
  for_each_type<float, double, Float16, BFloat16, std::int8_t, std::int32_t, std::int64_t,
                std::uint8_t, std::int16_t, std::uint16_t, std::uint32_t, std::uint64_t>(function);
}

template <class Function>
void for_integer_types(Function&& function) {
  for_each_type<std::int8_t, std::int32_t, std::int64_t, std::uint8_t, std::int16_t, std::uint16_t,
                std::uint32_t, std::uint64_t>(function);
}

template <class Function>
void for_floating_types(Function&& function) {
  for_each_type<float, double, Float16, BFloat16>(function);
}

template <class Function>
void for_all_types(Function&& function) {
  for_each_type<float, double, Float16, BFloat16, std::int8_t, std::int32_t, std::int64_t,
                std::uint8_t, bool, std::int16_t, std::uint16_t, std::uint32_t, std::uint64_t>(
      function);
}

}  // namespace belfry::testing
