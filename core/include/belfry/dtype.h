// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/float16.h"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace belfry {

/// Element types. The first nine have every kernel; the last four have fill, copy, cast and reduce
/// alone.
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
inline constexpr int kNumDTypes = 13;

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

}  // namespace belfry
