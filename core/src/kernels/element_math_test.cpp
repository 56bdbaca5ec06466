// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/element_math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace belfry::element::element_math_test {
namespace {

// Distance from the exact value, in units in the last place of the result type at the value. The
// exact value is a long double: at least 64 bits of significand and errors below 1 of its own ulp,
// less than 0.001 ulp of double.
template <class C>
double ulps(C actual, long double exact) {
  const auto rounded = static_cast<C>(exact);
  if (std::isinf(rounded) || std::isinf(actual)) return rounded == actual ? 0 : 1e9;
  constexpr int kDigits = std::numeric_limits<C>::digits;
  constexpr int kLowest = std::numeric_limits<C>::min_exponent - kDigits;
  const int exponent = exact == 0 ? kLowest : std::max(std::ilogb(exact) + 1 - kDigits, kLowest);
  return static_cast<double>(
      std::abs(std::ldexp(static_cast<long double>(actual) - exact, -exponent)));
}

template <class C, class Ours, class Exact>
double largest_error(Ours ours, Exact exact, std::uint64_t step) {
  double largest = 0;
  // Steps over all bit patterns: every exponent and both signs, fractions without a pattern.
  const std::uint64_t patterns = sizeof(C) == 4 ? std::uint64_t{1} << 32 : 0;
  std::uint64_t bits = 0;
  do {
    const C x = from_bits<C>(static_cast<Bits<C>>(bits));
    bits += step;
    const long double value = exact(static_cast<long double>(x));
    if (std::isnan(value)) {
      if (to_bits(ours(x)) != Format<C>::kNaN) return 1e9;
      continue;
    }
    largest = std::max(largest, ulps(ours(x), value));
  } while (sizeof(C) == 4 ? bits < patterns : bits >= step);
  return largest;
}

// Over all 2^32 floats (step 1) the largest errors are: exp 1.023, log 0.955, tanh 1.459.
constexpr std::uint64_t kFloatStep = 1021;
// About a million doubles. The bounds are those of float with room for values between the samples:
// the steps are the same, with shorter remainders of the series.
constexpr std::uint64_t kDoubleStep = 0x0000101234567891U;

const auto kExp = [](auto x) { return exp(x); };
const auto kLog = [](auto x) { return log(x); };
const auto kTanh = [](auto x) { return tanh(x); };
const auto kExactExp = [](long double x) { return std::exp(x); };
const auto kExactLog = [](long double x) { return std::log(x); };
const auto kExactTanh = [](long double x) { return std::tanh(x); };

TEST(ElementMath, FloatErrorsAreSmall) {
  EXPECT_LE(largest_error<float>(kExp, kExactExp, kFloatStep), 1.023);
  EXPECT_LE(largest_error<float>(kLog, kExactLog, kFloatStep), 0.955);
  EXPECT_LE(largest_error<float>(kTanh, kExactTanh, kFloatStep), 1.459);
}

TEST(ElementMath, DoubleErrorsAreSmall) {
  EXPECT_LE(largest_error<double>(kExp, kExactExp, kDoubleStep), 1.1);
  EXPECT_LE(largest_error<double>(kLog, kExactLog, kDoubleStep), 1.1);
  EXPECT_LE(largest_error<double>(kTanh, kExactTanh, kDoubleStep), 1.7);
}

// Random bit patterns are rarely in the ranges where functions neither vanish nor saturate: samples
// at even distances cover these ranges.
TEST(ElementMath, DoubleErrorsAreSmallWhereItMatters) {
  const auto largest = [](auto ours, auto exact, double low, double high) {
    double error = 0;
    for (int i = 0; i <= 1000000; ++i) {
      const double x = low + (high - low) * i / 1000000;
      error = std::max(error, ulps(ours(x), exact(static_cast<long double>(x))));
    }
    return error;
  };
  EXPECT_LE(largest(kExp, kExactExp, -745.2, 709.8), 1.1);
  EXPECT_LE(largest(kExp, kExactExp, -1.0, 1.0), 1.1);
  EXPECT_LE(largest(kLog, kExactLog, 0.5, 2.0), 1.1);
  EXPECT_LE(largest(kLog, kExactLog, 1.0, 1000.0), 1.1);
  EXPECT_LE(largest(kTanh, kExactTanh, -1.0, 1.0), 1.7);
  EXPECT_LE(largest(kTanh, kExactTanh, 0.5, 25.0), 1.7);
}

template <class C>
void expect_specials() {
  const C infinity = std::numeric_limits<C>::infinity();
  const C nan = from_bits<C>(Format<C>::kNaN | Format<C>::kSign | 5);
  for (const C x : {exp(nan), log(nan), tanh(nan), log(C(-1)), log(-infinity)}) {
    EXPECT_EQ(to_bits(x), Format<C>::kNaN);
  }
  EXPECT_EQ(exp(infinity), infinity);
  EXPECT_EQ(to_bits(exp(-infinity)), 0U);
  EXPECT_EQ(exp(C(0)), C(1));
  EXPECT_EQ(exp(C(-0.0)), C(1));
  EXPECT_EQ(exp(C(800)), infinity);
  EXPECT_EQ(to_bits(exp(C(-800))), 0U);
  EXPECT_EQ(log(infinity), infinity);
  EXPECT_EQ(log(C(0)), -infinity);
  EXPECT_EQ(log(C(-0.0)), -infinity);
  EXPECT_EQ(to_bits(log(C(1))), 0U);
  EXPECT_EQ(tanh(infinity), C(1));
  EXPECT_EQ(tanh(-infinity), C(-1));
  EXPECT_EQ(to_bits(tanh(C(0))), 0U);
  EXPECT_EQ(to_bits(tanh(C(-0.0))), Format<C>::kSign);
  // Too small for any correction: themselves.
  const C tiny = std::numeric_limits<C>::denorm_min();
  EXPECT_EQ(tanh(tiny), tiny);
  EXPECT_EQ(exp(tiny), C(1));
}

TEST(ElementMath, SpecialValues) {
  expect_specials<float>();
  expect_specials<double>();
}

TEST(ElementMath, SubnormalResultsAndArguments) {
  EXPECT_LE(ulps(exp(-100.0F), std::exp(-100.0L)), 1.1);
  EXPECT_LE(ulps(exp(-740.0), std::exp(-740.0L)), 1.1);
  EXPECT_LE(ulps(log(0x1p-149F), std::log(0x1p-149L)), 1.1);
  EXPECT_LE(ulps(log(0x1p-1074), std::log(0x1p-1074L)), 1.1);
}

TEST(ElementMath, SineAndCosineOfQuarterTurns) {
  // 3 ulp of 1: the angle is rounded twice before a Taylor series with a smaller remainder.
  const long double half_pi = std::acos(0.0L);
  for (int i = -500; i <= 500; ++i) {
    const double x = i / 1000.0;
    const auto wide = sine_cosine_of_quarters(x);
    EXPECT_NEAR(wide.sine, static_cast<double>(std::sin(half_pi * x)), 3 * 0x1p-53);
    EXPECT_NEAR(wide.cosine, static_cast<double>(std::cos(half_pi * x)), 3 * 0x1p-53);
    const auto f = static_cast<float>(x);
    const auto narrow = sine_cosine_of_quarters(f);
    EXPECT_NEAR(narrow.sine, static_cast<double>(std::sin(half_pi * f)), 3 * 0x1p-24);
    EXPECT_NEAR(narrow.cosine, static_cast<double>(std::cos(half_pi * f)), 3 * 0x1p-24);
  }
}

}  // namespace
}  // namespace belfry::element::element_math_test
