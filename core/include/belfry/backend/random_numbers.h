// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/element_math.h"
#include "belfry/dtype.h"

#include <cmath>
#include <cstdint>
#include <type_traits>

/// Random numbers as a function of (seed, index). Any part of a sequence can be drawn at any place,
/// in any order, on any device.
namespace belfry::element {

/// A block of random bits: 128 bits in four words.
struct RandomBlock {
  std::uint32_t word[4];  ///< The words, in the order of the draws.
};

/// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3).
BELFRY_HOST_DEVICE constexpr RandomBlock philox(RandomBlock counter, std::uint32_t key_low,
                                                std::uint32_t key_high) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t even = std::uint64_t{0xd2511f53U} * counter.word[0];
    const std::uint64_t odd = std::uint64_t{0xcd9e8d57U} * counter.word[2];
    counter = {{static_cast<std::uint32_t>(odd >> 32) ^ counter.word[1] ^ key_low,
                static_cast<std::uint32_t>(odd),
                static_cast<std::uint32_t>(even >> 32) ^ counter.word[3] ^ key_high,
                static_cast<std::uint32_t>(even)}};
    key_low += 0x9e3779b9U;
    key_high += 0xbb67ae85U;
  }
  return counter;
}

/// Block `number` of the sequence `seed`; `purpose` separates different uses of a seed.
BELFRY_HOST_DEVICE constexpr RandomBlock random_block(std::uint64_t seed, std::uint64_t number,
                                                      std::uint32_t purpose) {
  return philox(
      {{static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32), purpose, 0}},
      static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
}

/// The number of draws of T from a block: 64-bit types take two words each, all other types one.
template <class T>
inline constexpr int kDrawsPerBlock = sizeof(T) == 8 ? 2 : 4;

namespace detail {
BELFRY_HOST_DEVICE constexpr std::uint64_t wide_word(const RandomBlock& block, int index) {
  const std::size_t low = 2 * static_cast<std::size_t>(index);
  return block.word[low] | (std::uint64_t{block.word[low + 1]} << 32);
}

/// Cosine (even draws) or sine (odd draws) of an angle, given as a fraction of a whole turn by all
/// bits of `word`: the two upper bits are the quadrant, the rest the position in the quadrant.
template <class C, class Word>
BELFRY_HOST_DEVICE constexpr C on_circle(Word word, bool odd) {
  constexpr int kBits = 8 * sizeof(Word) - 2;
  const auto quadrant = static_cast<unsigned>(word >> kBits);
  const Word rest = word & ((Word{1} << kBits) - 1);
  const auto centred = static_cast<std::make_signed_t<Word>>(rest) -
                       static_cast<std::make_signed_t<Word>>(Word{1} << (kBits - 1));
  const C quarters = static_cast<C>(centred) * (C(1) / static_cast<C>(Word{1} << kBits));
  const SineCosine<C> at = sine_cosine_of_quarters(quarters);
  const unsigned turned = odd ? quadrant : quadrant + 1;  // cos(a) = sin(a + 1 quarter)
  const C value = (turned & 1U) != 0 ? at.cosine : at.sine;
  return (turned & 2U) != 0 ? -value : value;
}
}  // namespace detail

/// Draw `index` within its block, uniform in [0, 1): multiples of 2^-24, 2^-53, 2^-11 (float16) or
/// 2^-8 (bfloat16).
template <class T>
BELFRY_HOST_DEVICE constexpr T uniform(const RandomBlock& block, int index) {
  if constexpr (std::is_same_v<T, double>) {
    return static_cast<double>(detail::wide_word(block, index) >> 11) * 0x1p-53;
  } else if constexpr (std::is_same_v<T, Float16>) {
    return Float16(static_cast<float>(block.word[index] >> 21) * 0x1p-11F);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return BFloat16(static_cast<float>(block.word[index] >> 24) * 0x1p-8F);
  } else {
    return static_cast<float>(block.word[index] >> 8) * 0x1p-24F;
  }
}

/// Draw `index` within its block of the standard normal distribution (Box and Muller): an even and
/// the following odd draw share two uniform numbers.
template <class T>
BELFRY_HOST_DEVICE inline T normal(const RandomBlock& block, int index) {
  const bool odd = (index & 1) != 0;
  if constexpr (sizeof(T) == 8) {
    const double u = static_cast<double>((detail::wide_word(block, 0) >> 11) + 1) * 0x1p-53;
    return std::sqrt(-2.0 * log(u)) * detail::on_circle<double>(detail::wide_word(block, 1), odd);
  } else {
    const std::uint32_t* words = block.word + (index & 2);
    const float u = static_cast<float>((words[0] >> 8) + 1) * 0x1p-24F;
    return static_cast<T>(std::sqrt(-2.0F * log(u)) * detail::on_circle<float>(words[1], odd));
  }
}

/// Draw `index` within its block: all bits of an integer.
template <class T>
BELFRY_HOST_DEVICE constexpr T random_bits(const RandomBlock& block, int index) {
  if constexpr (sizeof(T) == 8) {
    return static_cast<T>(detail::wide_word(block, index));
  } else {
    return static_cast<T>(block.word[index]);
  }
}

}  // namespace belfry::element
