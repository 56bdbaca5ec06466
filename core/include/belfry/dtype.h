// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/compiler.h"

#include <bit>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

/// Marks functions for the host and, if nvcc compiles them, for the GPU too.
#ifdef __CUDACC__
#define BELFRY_HOST_DEVICE __host__ __device__
#else
#define BELFRY_HOST_DEVICE
#endif

namespace belfry {

/// IEEE 754 binary16, as storage. Arithmetic converts to float; storing the result rounds once, to
/// nearest even.
struct Float16 {
  std::uint16_t bits = 0;  ///< The sign, 5 exponent bits, 10 fraction bits.

  Float16() = default;
  /// Rounds to nearest even.
  BELFRY_HOST_DEVICE explicit constexpr Float16(float value) : bits(round(value)) {}
  /// The same number, exactly.
  BELFRY_HOST_DEVICE constexpr operator float() const { return widen(bits); }  // NOLINT

  /// The number with these bits.
  static BELFRY_HOST_DEVICE constexpr Float16 from_bits(std::uint16_t bits) {
    Float16 value;
    value.bits = bits;
    return value;
  }

 private:
  static BELFRY_HOST_DEVICE constexpr std::uint16_t round(float value);
  static BELFRY_HOST_DEVICE constexpr float widen(std::uint16_t bits);
};

/// The upper half of a binary32 (8 exponent bits, 7 fraction bits), as storage.
struct BFloat16 {
  std::uint16_t bits = 0;  ///< The sign, 8 exponent bits, 7 fraction bits.

  BFloat16() = default;
  /// Rounds to nearest even.
  BELFRY_HOST_DEVICE explicit constexpr BFloat16(float value) : bits(round(value)) {}
  /// The same number, exactly.
  BELFRY_HOST_DEVICE constexpr operator float() const {  // NOLINT
    return std::bit_cast<float>(std::uint32_t{bits} << 16);
  }

  /// The number with these bits.
  static BELFRY_HOST_DEVICE constexpr BFloat16 from_bits(std::uint16_t bits) {
    BFloat16 value;
    value.bits = bits;
    return value;
  }

 private:
  static BELFRY_HOST_DEVICE constexpr std::uint16_t round(float value) {
    const auto wide = std::bit_cast<std::uint32_t>(value);
    if ((wide & 0x7fffffffU) > 0x7f800000U) {  // A NaN must not be rounded into an infinity.
      return static_cast<std::uint16_t>((wide >> 16) | 0x0040U);
    }
    return static_cast<std::uint16_t>((wide + 0x7fffU + ((wide >> 16) & 1U)) >> 16);
  }
};

constexpr std::uint16_t Float16::round(float value) {
  const auto wide = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (wide >> 16) & 0x8000U;
  const std::uint32_t magnitude = wide & 0x7fffffffU;
  if (magnitude > 0x7f800000U) {
    return static_cast<std::uint16_t>(sign | 0x7e00U | ((magnitude >> 13) & 0x03ffU));
  }
  if (magnitude >= 0x477ff000U) return static_cast<std::uint16_t>(sign | 0x7c00U);
  if (magnitude < 0x38800000U) {
    // Subnormal: adding 0.5f puts the rounding position at the last bit of the float's fraction.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000U));
  }
  const std::uint32_t odd = (magnitude >> 13) & 1U;
  return static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000U + 0x0fffU + odd) >> 13));
}

constexpr float Float16::widen(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t{bits & 0x8000U} << 16;
  const std::uint32_t magnitude = bits & 0x7fffU;
  if (magnitude >= 0x7c00U) {
    return std::bit_cast<float>(sign | 0x7f800000U | ((magnitude & 0x03ffU) << 13));
  }
  if (magnitude < 0x0400U) {
    const float tiny = static_cast<float>(magnitude) * 0x1p-24F;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(tiny) | sign);
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000U));
}

/// Element types. Each has every kind of kernel; `belfry/backend/kernel.h` has the limits of bool
/// and of integers.
enum class DType : std::uint8_t {
  kFloat32,
  kFloat64,
  kFloat16,
  kBFloat16,
  kInt8,
  kInt32,
  kInt64,
  kUInt8,
  kBool,
  kInt16,
  kUInt16,
  kUInt32,
  kUInt64,
};
inline constexpr int kNumDTypes = 13;  ///< The number of element types.

/// Bytes of one element.
constexpr std::size_t size_of(DType dtype) {
  constexpr std::size_t sizes[kNumDTypes] = {4, 8, 2, 2, 1, 4, 8, 1, 1, 2, 2, 4, 8};
  return sizes[static_cast<int>(dtype)];
}

/// `float32`, `int64`, ...
std::string to_string(DType dtype);

/// Whether MEAN is defined without a policy.
constexpr bool is_floating(DType dtype) { return dtype <= DType::kBFloat16; }

/// C++ types that can be the element of a tensor or a leaf of a nest.
template <class T>
concept Element =
    std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16> ||
    (std::is_arithmetic_v<T> && !std::is_same_v<T, long double> && !std::is_same_v<T, wchar_t> &&
     !std::is_same_v<T, char8_t> && !std::is_same_v<T, char16_t> && !std::is_same_v<T, char32_t>);

namespace detail {
constexpr DType integer_dtype(std::size_t bytes, bool is_signed) {
  switch (bytes) {
    case 1:
      return is_signed ? DType::kInt8 : DType::kUInt8;
    case 2:
      return is_signed ? DType::kInt16 : DType::kUInt16;
    case 4:
      return is_signed ? DType::kInt32 : DType::kUInt32;
    default:
      return is_signed ? DType::kInt64 : DType::kUInt64;
  }
}
}  // namespace detail

/// The DType of C++ type T; integers map by width and sign.
template <Element T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>)
    return DType::kFloat32;
  else if constexpr (std::is_same_v<T, double>)
    return DType::kFloat64;
  else if constexpr (std::is_same_v<T, Float16>)
    return DType::kFloat16;
  else if constexpr (std::is_same_v<T, BFloat16>)
    return DType::kBFloat16;
  else if constexpr (std::is_same_v<T, bool>)
    return DType::kBool;
  else
    return detail::integer_dtype(sizeof(T), std::is_signed_v<T>);
}

/// Makes a type T of a program a leaf of nests (SEM-158): replicas reduce, gather into a
/// PerReplica, fetch and keep values of T in variables as they do with a double. Specialise:
///
///     template <>
///     struct belfry::ElementTraits<Fixed> {
///       static Fixed zero();
///       static Fixed add(const Fixed& left, const Fixed& right);
///       static Fixed divide(const Fixed& sum, int count);
///       static std::string text(const Fixed& value);
///     };
///
/// `add(zero(), x)` is x. `divide` is optional: without it T has no MEAN. `text` is the value in
/// messages and logs; different values have different texts. T is trivially copyable and default
/// constructible. The functions depend on their arguments alone. Exceptions of the functions leave
/// the verb that reduces.
template <class T>
struct ElementTraits {
  /// Not in specialisations.
  static constexpr bool kIsMissing = true;
};

namespace detail {

/// Whether a program specialised ElementTraits for T.
template <class T>
concept HasElementTraits = !requires { ElementTraits<T>::kIsMissing; };

}  // namespace detail

/// A type that ElementTraits makes a leaf.
template <class T>
concept UserElement =
    detail::HasElementTraits<T> && !Element<T> && std::is_trivially_copyable_v<T> &&
    std::is_default_constructible_v<T> && requires(const T& value) {
      { ElementTraits<T>::zero() } -> std::same_as<T>;
      { ElementTraits<T>::add(value, value) } -> std::same_as<T>;
      { ElementTraits<T>::text(value) } -> std::convertible_to<std::string>;
    };

/// A UserElement with a MEAN.
template <class T>
concept DividedElement = UserElement<T> && requires(const T& value) {
  { ElementTraits<T>::divide(value, 1) } -> std::same_as<T>;
};

namespace detail {

/// The functions of ElementTraits for code without templates. Each pointer is to a T.
struct ElementFunctions {
  std::string_view spelling;  ///< Of a function with the name of T, by the compiler.
  std::size_t size;           ///< Of T.
  void (*set_zero)(void* value);
  void (*add_to)(void* sum, const void* value);  ///< sum = add(sum, value).
  void (*divide)(void* sum, int count);          ///< sum = divide(sum, count); null: no MEAN.
  std::string (*text)(const void* value);
};

/// The name of T, for messages.
std::string name_of(const ElementFunctions& functions);

template <class T>
constexpr std::string_view spelling_with_name() {
  return __PRETTY_FUNCTION__;
}

template <UserElement T>
constexpr ElementFunctions make_element_functions() {
  using Traits = ElementTraits<T>;
  ElementFunctions functions{
      .spelling = spelling_with_name<T>(),
      .size = sizeof(T),
      .set_zero = [](void* value) { *static_cast<T*>(value) = Traits::zero(); },
      .add_to =
          [](void* sum, const void* value) {
            T& to = *static_cast<T*>(sum);
            to = Traits::add(to, *static_cast<const T*>(value));
          },
      .divide = nullptr,
      .text =
          [](const void* value) {
            return std::string(Traits::text(*static_cast<const T*>(value)));
          }};
  if constexpr (DividedElement<T>) {
    functions.divide = [](void* sum, int count) {
      T& to = *static_cast<T*>(sum);
      to = Traits::divide(to, count);
    };
  }
  return functions;
}

template <UserElement T>
inline constexpr ElementFunctions kElementFunctions = make_element_functions<T>();

}  // namespace detail
}  // namespace belfry
