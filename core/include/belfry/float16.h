// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/host_device.h"

#include <bit>
#include <compare>
#include <cstdint>

namespace belfry {

/// IEEE 754 binary16, as storage. Arithmetic converts to float; storing the result rounds once, to
/// nearest even.
struct Float16 {
  std::uint16_t bits = 0;

  Float16() = default;
  BELFRY_HOST_DEVICE explicit constexpr Float16(float value) : bits(round(value)) {}
  BELFRY_HOST_DEVICE constexpr operator float() const { return widen(bits); }  // NOLINT

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
  std::uint16_t bits = 0;

  BFloat16() = default;
  BELFRY_HOST_DEVICE explicit constexpr BFloat16(float value) : bits(round(value)) {}
  BELFRY_HOST_DEVICE constexpr operator float() const {  // NOLINT
    return std::bit_cast<float>(std::uint32_t{bits} << 16);
  }

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

}  // namespace belfry
