// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/dtype.h"

#include <gtest/gtest.h>
#include <Eigen/Core>

#include <bit>
#include <cmath>
#include <cstdint>

namespace belfry::float16_test {
namespace {

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

// Eigen is the second implementation. Eigen may choose other payloads for NaN: NaNs compare as NaN.
template <class Ours, class Theirs>
void expect_same_storage(std::uint16_t bits) {
  const float ours = Ours::from_bits(bits);
  const float theirs = static_cast<float>(Eigen::numext::bit_cast<Theirs>(bits));
  if (std::isnan(theirs)) {
    ASSERT_TRUE(std::isnan(ours)) << std::hex << bits;
    ASSERT_TRUE(std::isnan(static_cast<float>(Ours(ours)))) << std::hex << bits;
    return;
  }
  ASSERT_EQ(bits_of(ours), bits_of(theirs)) << std::hex << bits;
  ASSERT_EQ(Ours(ours).bits, bits) << "widening and rounding again must give the pattern back";
}

template <class Ours, class Theirs>
void expect_same_rounding(float value) {
  if (std::isnan(value)) {
    ASSERT_TRUE(std::isnan(static_cast<float>(Ours(value)))) << std::hex << bits_of(value);
    return;
  }
  ASSERT_EQ(Ours(value).bits, Eigen::numext::bit_cast<std::uint16_t>(Theirs(value)))
      << std::hex << bits_of(value);
}

template <class Ours, class Theirs>
void expect_every_pattern_agrees() {
  for (std::uint32_t bits = 0; bits <= 0xffffU; ++bits) {
    expect_same_storage<Ours, Theirs>(static_cast<std::uint16_t>(bits));
    if (::testing::Test::HasFatalFailure()) return;
  }
}

// Around every representable value: the value itself, the tie to its successor, and the floats next
// to both. `step` is the weight of the last kept bit in the float's pattern.
template <class Ours, class Theirs>
void expect_rounding_agrees_around_every_value(std::uint32_t step) {
  for (std::uint32_t bits = 0; bits <= 0xffffU; ++bits) {
    const std::uint32_t wide = bits_of(Ours::from_bits(static_cast<std::uint16_t>(bits)));
    for (const std::uint32_t offset : {0U, 1U, step / 2 - 1, step / 2, step / 2 + 1, step - 1}) {
      expect_same_rounding<Ours, Theirs>(std::bit_cast<float>(wide + offset));
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(Float16, EveryPatternWidensAsEigenSays) {
  expect_every_pattern_agrees<Float16, Eigen::half>();
}

TEST(Float16, RoundsAsEigenAroundEveryValue) {
  expect_rounding_agrees_around_every_value<Float16, Eigen::half>(1U << 13);
}

TEST(Float16, RoundsASampleOfAllFloatsAsEigen) {
  // A stride without a common factor with 2^32 meets every exponent and both signs.
  std::uint32_t wide = 0;
  for (int i = 0; i < 1'000'000; ++i, wide += 4'294'967U) {
    expect_same_rounding<Float16, Eigen::half>(std::bit_cast<float>(wide));
    if (HasFatalFailure()) return;
  }
}

TEST(BFloat16, EveryPatternWidensAsEigenSays) {
  expect_every_pattern_agrees<BFloat16, Eigen::bfloat16>();
}

TEST(BFloat16, RoundsAsEigenAroundEveryValue) {
  expect_rounding_agrees_around_every_value<BFloat16, Eigen::bfloat16>(1U << 16);
}

TEST(Float16, ConvertsAtCompileTime) {
  static_assert(Float16(0.5F).bits == 0x3800);
  static_assert(static_cast<float>(BFloat16(0.5F)) == 0.5F);
}

}  // namespace
}  // namespace belfry::float16_test
