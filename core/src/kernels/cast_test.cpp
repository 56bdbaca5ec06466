// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/element_types.h"
#include "belfry/backend/host_kernels.h"
#include "kernels/operands_test.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace belfry::cast_test {
namespace {

using testing::Elements;
using testing::kIsFloat;
using testing::Pattern;
using testing::Stored;
using testing::value_of;

// The 16-bit float nearest to `x`, ties to even, found by bisection over the patterns. Patterns are
// ordered by value, and long double holds every source type exactly.
template <class To>
To nearest_pattern(long double x) {
  const bool negative = std::signbit(x);
  const long double magnitude = std::abs(x);
  const auto value = [](std::uint32_t bits) {
    return static_cast<long double>(value_of(To::from_bits(static_cast<std::uint16_t>(bits))));
  };
  const std::uint32_t infinity = testing::bits_of(To(std::numeric_limits<float>::infinity()));
  std::uint32_t low = 0;  // value(low) <= magnitude < value(high)
  std::uint32_t high = infinity;
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    (value(middle) <= magnitude ? low : high) = middle;
  }
  // Infinity counts as the value of its pattern in a wider format.
  const long double above = high == infinity ? 2 * value(low) - value(low - 1) : value(high);
  const long double to_low = magnitude - value(low);
  const long double to_high = above - magnitude;
  const std::uint32_t nearest =
      std::isinf(x) || to_high < to_low || (to_high == to_low && low % 2 == 1) ? high : low;
  return To::from_bits(static_cast<std::uint16_t>(nearest | (negative ? 0x8000U : 0U)));
}

template <class To, class From>
Stored<To> naive_cast(From x) {
  const auto value = static_cast<long double>(value_of(x));
  if constexpr (std::is_same_v<To, bool>) {
    return value != 0 ? 1 : 0;
  } else if constexpr (kIsFloat<To>) {
    if (std::isnan(value)) return To(std::numeric_limits<float>::quiet_NaN());
    if constexpr (sizeof(To) == 2)
      return nearest_pattern<To>(value);
    else
      return static_cast<To>(value);
  } else {
    using Limits = std::numeric_limits<To>;
    if (std::isnan(value)) return 0;
    if (value <= static_cast<long double>(Limits::min())) return Limits::min();
    if (value >= static_cast<long double>(Limits::max())) return Limits::max();
    return static_cast<To>(value);
  }
}

template <class To, class From>
void check_cast(std::size_t count, std::size_t offset, Pattern pattern, std::uint64_t seed) {
  const Elements<From> in(count, pattern, seed, offset);
  Elements<To> out(count);
  KernelCall call;
  call.kind = KernelKind::kCast;
  call.inputs = {in.operand()};
  call.outputs = {out.operand()};
  run_on_host(call);
  testing::assert_elements(out, [&](std::size_t i) {
    if constexpr (std::is_same_v<To, From>)
      return in[i];
    else if constexpr (std::is_same_v<From, bool>)
      return naive_cast<To>(in[i] != 0 ? 1 : 0);
    else
      return naive_cast<To>(in[i]);
  });
}

// 64-bit significands: enough for every source type exactly.
static_assert(std::numeric_limits<long double>::digits >= 64);

RC_GTEST_PROP(Cast, EveryTypeToEveryTypeIsRoundedOnceOrSaturates, ()) {
  const auto count = *rc::gen::inRange<std::size_t>(0, 40);
  const auto offset = *rc::gen::inRange<std::size_t>(0, 3);
  const auto pattern = *testing::any_pattern();
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  // A copied NaN keeps its bits, but assert_elements expects the NaN of computed results.
  testing::for_all_types([&](auto* to) {
    using To = std::remove_pointer_t<decltype(to)>;
    testing::for_all_types([&](auto* from) {
      using From = std::remove_pointer_t<decltype(from)>;
      if constexpr (!std::is_same_v<To, From>) check_cast<To, From>(count, offset, pattern, seed);
    });
  });
}

template <class To, class From>
To one_cast(From x) {
  return element::cast<To>(x);
}

TEST(Cast, SixteenBitsAreRoundedOnceFromWiderTypes) {
  // Slightly above or below the tie between two float16 or bfloat16 neighbours: a rounding to float
  // first would give the tie.
  EXPECT_EQ(one_cast<Float16>(1 + 0x1p-11 + 0x1p-40).bits, 0x3c01);
  EXPECT_EQ(one_cast<Float16>(1 + 3 * 0x1p-11 - 0x1p-40).bits, 0x3c01);
  EXPECT_EQ(one_cast<BFloat16>(1 + 0x1p-8 + 0x1p-40).bits, 0x3f81);
  EXPECT_EQ(one_cast<BFloat16>((std::int64_t{1} << 62) + (std::int64_t{1} << 54) + 1).bits,
            BFloat16(0x1p62F).bits + 1);
  EXPECT_EQ(one_cast<BFloat16>((std::int32_t{1} << 30) + (1 << 22) + 1).bits,
            BFloat16(0x1p30F).bits + 1);
  EXPECT_EQ(one_cast<Float16>(1e300).bits, 0x7c00);
  EXPECT_EQ(one_cast<Float16>(-1e-300).bits, 0x8000);
  EXPECT_EQ(one_cast<BFloat16>(3.4e38).bits, 0x7f80);
}

TEST(Cast, ToIntegersSaturates) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(one_cast<std::int8_t>(-1000.0), -128);
  EXPECT_EQ(one_cast<std::int8_t>(-1.9), -1);
  EXPECT_EQ(one_cast<std::uint8_t>(-1.0F), 0);
  EXPECT_EQ(one_cast<std::uint8_t>(255.9F), 255);
  EXPECT_EQ(one_cast<std::uint64_t>(infinity), ~std::uint64_t{0});
  EXPECT_EQ(one_cast<std::int64_t>(-infinity), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(one_cast<std::int64_t>(0x1p63), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(one_cast<std::int32_t>(std::numeric_limits<double>::quiet_NaN()), 0);
  EXPECT_EQ(one_cast<std::int8_t>(std::int64_t{1} << 40), 127);
  EXPECT_EQ(one_cast<std::uint32_t>(std::int64_t{-5}), 0U);
  EXPECT_EQ(one_cast<std::int16_t>(~std::uint64_t{0}), 32767);
}

TEST(Cast, ToItsOwnTypeKeepsBits) {
  Elements<float> in(100, Pattern::kAnyBits, 3);
  Elements<float> out(100);
  in[0] = std::bit_cast<float>(0xffc00001U);
  KernelCall call;
  call.kind = KernelKind::kCast;
  call.inputs = {in.operand()};
  call.outputs = {out.operand()};
  run_on_host(call);
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(testing::bits_of(in[i]), testing::bits_of(out[i]));
  }
}

}  // namespace
}  // namespace belfry::cast_test
