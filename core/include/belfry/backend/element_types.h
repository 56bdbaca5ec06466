// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/element_math.h"
#include "belfry/dtype.h"

#include <cstdint>
#include <limits>
#include <type_traits>

/// The element types of kernels: types in memory, types of computation, and the conversions between
/// all of them.
namespace belfry::element {

/// A bool in memory. Any byte is valid: all but 0 are true; true is written as 1.
struct BoolByte {
  std::uint8_t byte = 0;  ///< The byte.
};

/// Whether T is Float16 or BFloat16.
template <class T>
inline constexpr bool kIs16BitFloat = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;
/// Whether T is a floating type, of 16 bits or more.
template <class T>
inline constexpr bool kIsFloating = std::is_floating_point_v<T> || kIs16BitFloat<T>;

/// The type of computations with T in memory.
template <class T>
using Compute = std::conditional_t<kIs16BitFloat<T>, float,
                                   std::conditional_t<std::is_same_v<T, BoolByte>, bool, T>>;

/// An element of memory, for computing.
template <class T>
BELFRY_HOST_DEVICE constexpr Compute<T> load(T x) {
  if constexpr (std::is_same_v<T, BoolByte>) {
    return x.byte != 0;
  } else {
    return static_cast<Compute<T>>(x);
  }
}

/// A computed value, as an element of memory; rounded once.
template <class T>
BELFRY_HOST_DEVICE constexpr T store(Compute<T> x) {
  if constexpr (std::is_same_v<T, BoolByte>) {
    return BoolByte{static_cast<std::uint8_t>(x ? 1 : 0)};
  } else {
    return static_cast<T>(x);
  }
}

/// The DType of a type in memory.
template <class T>
constexpr DType dtype_in_memory() {
  if constexpr (std::is_same_v<T, BoolByte>) {
    return DType::kBool;
  } else {
    return dtype_of<T>();
  }
}

namespace detail {

/// `x` as a float with the last bit set if the value is not exact. Rounding the result to 16 bits
/// gives the same bits as rounding `x` directly.
BELFRY_HOST_DEVICE constexpr float round_to_odd(double x) {
  const auto nearest = static_cast<float>(x);
  const double back = nearest;
  const std::uint32_t bits = to_bits(nearest);
  if (!(back < x || back > x) || (bits & 1U) != 0) return nearest;
  // Bit patterns of the same sign are ordered by magnitude.
  const bool away_from_zero = x < 0 ? back > x : back < x;
  return from_bits<float>(away_from_zero ? bits + 1 : bits - 1);
}

/// An integer as a double with the same rounding to 16 bits as the integer.
template <class From>
BELFRY_HOST_DEVICE constexpr double to_sticky_double(From x) {
  if constexpr (sizeof(From) < 8) {
    return static_cast<double>(x);
  } else {
    const bool negative = x < 0;
    const auto bits = static_cast<std::uint64_t>(x);
    std::uint64_t magnitude = negative ? 0 - bits : bits;
    if (magnitude >> 53 != 0) {
      // Rounding needs to know only whether any of the low bits was set.
      magnitude = ((magnitude >> 11) | ((magnitude & 0x7ffU) != 0 ? 1U : 0U)) << 11;
    }
    const auto value = static_cast<double>(magnitude);
    return negative ? -value : value;
  }
}

template <class To, class From>
BELFRY_HOST_DEVICE constexpr To float_to_integer(From x) {
  using Limits = std::numeric_limits<To>;
  // Two to the number of value bits: the first value out of range, exact in any floating type.
  const From end = static_cast<From>(To{1} << (Limits::digits - 1)) * From(2);
  if (!(x == x)) return 0;
  if (x >= end) return Limits::max();
  if (x <= (std::is_signed_v<To> ? -end : From(0))) return Limits::min();
  return static_cast<To>(x);
}

template <class To, class From>
BELFRY_HOST_DEVICE constexpr To integer_to_integer(From x) {
  using Limits = std::numeric_limits<To>;
  if (x < 0) {
    if constexpr (std::is_unsigned_v<To>) {
      return 0;
    } else {
      const auto wide = static_cast<std::int64_t>(+x);
      return wide < std::int64_t{Limits::min()} ? Limits::min() : static_cast<To>(x);
    }
  }
  const auto wide = static_cast<std::uint64_t>(+x);
  return wide > static_cast<std::uint64_t>(Limits::max()) ? Limits::max() : static_cast<To>(x);
}

}  // namespace detail

/// `x` as another type. To floating types: rounded once, to nearest even. To integers: towards
/// zero, saturating, 0 for NaN. To bool: whether x is not 0. To its own type: bit by bit.
template <class To, class From>
BELFRY_HOST_DEVICE constexpr To cast(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (std::is_same_v<From, BoolByte>) {
    return cast<To>(static_cast<std::uint8_t>(load(x) ? 1 : 0));
  } else if constexpr (std::is_same_v<To, BoolByte>) {
    return store<BoolByte>(load(x) != Compute<From>(0));
  } else if constexpr (kIs16BitFloat<To>) {
    if constexpr (std::is_same_v<From, double>) {
      return To(canonical(detail::round_to_odd(x)));
    } else if constexpr (std::is_integral_v<From>) {
      return To(detail::round_to_odd(detail::to_sticky_double(x)));
    } else {
      return To(canonical(load(x)));
    }
  } else if constexpr (std::is_floating_point_v<To>) {
    return canonical(static_cast<To>(load(x)));
  } else if constexpr (kIsFloating<From>) {
    return detail::float_to_integer<To>(load(x));
  } else {
    return detail::integer_to_integer<To>(x);
  }
}

/// The scalar of a kernel's parameters as an element. Floating types: `scalar`, rounded once.
/// Integers: `integer_scalar` modulo 2^w. Bool: whether `integer_scalar` is not 0.
template <class T>
BELFRY_HOST_DEVICE constexpr T scalar_element(double scalar, std::int64_t integer_scalar) {
  if constexpr (kIsFloating<T>) {
    return cast<T>(scalar);
  } else if constexpr (std::is_same_v<T, BoolByte>) {
    return store<BoolByte>(integer_scalar != 0);
  } else {
    return static_cast<T>(integer_scalar);
  }
}

/// scalar_element for computing: 16-bit types get the scalar as a float.
template <class T>
BELFRY_HOST_DEVICE constexpr Compute<T> scalar_operand(double scalar, std::int64_t integer_scalar) {
  return load(
      scalar_element<std::conditional_t<kIs16BitFloat<T>, float, T>>(scalar, integer_scalar));
}

}  // namespace belfry::element
