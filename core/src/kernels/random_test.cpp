// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/host_kernels.h"
#include "belfry/backend/random_numbers.h"
#include "kernels/operands_test.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace belfry::random_test {
namespace {

using testing::Elements;

void expect_block(element::RandomBlock counter, std::uint32_t key_low, std::uint32_t key_high,
                  element::RandomBlock expected) {
  const element::RandomBlock block = element::philox(counter, key_low, key_high);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(block.word[i], expected.word[i]) << "word " << i;
}

// The vectors published with the generator (Random123, kat_vectors, philox4x32 with 10 rounds).
TEST(Philox, KnownAnswers) {
  expect_block({{0, 0, 0, 0}}, 0, 0, {{0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U}});
  expect_block({{~0U, ~0U, ~0U, ~0U}}, ~0U, ~0U,
               {{0x408f276dU, 0x41c83b0eU, 0xa20bc7c6U, 0x6d5451fdU}});
  expect_block({{0x243f6a88U, 0x85a308d3U, 0x13198a2eU, 0x03707344U}}, 0xa4093822U, 0x299f31d0U,
               {{0xd16cfe09U, 0x94fdccebU, 0x5001e420U, 0x24126ea1U}});
}

KernelCall random_call(Distribution distribution, std::uint64_t seed, std::uint64_t offset,
                       KernelOperand out) {
  KernelCall call;
  call.kind = KernelKind::kRandom;
  call.parameters.distribution = distribution;
  call.parameters.seed = seed;
  call.parameters.offset = offset;
  call.outputs = {out};
  return call;
}

template <class T>
Elements<T> draw(Distribution distribution, std::uint64_t seed, std::uint64_t offset,
                 std::size_t count) {
  Elements<T> out(count);
  run_on_host(random_call(distribution, seed, offset, out.operand()));
  return out;
}

// A draw depends on seed and number alone: any cut of a sequence gives the same elements.
template <class T>
void check_cuts(Distribution distribution, std::uint64_t seed, std::uint64_t offset,
                std::size_t count, std::size_t cut) {
  const auto whole = draw<T>(distribution, seed, offset, count);
  const auto end = draw<T>(distribution, seed, offset + cut, count - cut);
  for (std::size_t i = cut; i < count; ++i) {
    RC_ASSERT(testing::bits_of(whole[i]) == testing::bits_of(end[i - cut]));
  }
}

RC_GTEST_PROP(Random, AnyPartOfASequenceCanBeDrawnAlone, ()) {
  const auto count = *rc::gen::inRange<std::size_t>(0, 40);
  const auto cut = *rc::gen::inRange<std::size_t>(0, count + 1);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto offset = *rc::gen::arbitrary<std::uint64_t>();
  testing::for_floating_types([&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    check_cuts<T>(Distribution::kUniform, seed, offset, count, cut);
    check_cuts<T>(Distribution::kNormal, seed, offset, count, cut);
  });
  testing::for_integer_types([&](auto* type) {
    check_cuts<std::remove_pointer_t<decltype(type)>>(Distribution::kBits, seed, offset, count,
                                                      cut);
  });
}

TEST(Random, UniformDrawsAreTheUpperBitsOfTheWords) {
  const element::RandomBlock block = element::random_block(7, 2, 0);
  const auto floats = draw<float>(Distribution::kUniform, 7, 8, 4);
  const auto halves = draw<Float16>(Distribution::kUniform, 7, 8, 4);
  const auto doubles = draw<double>(Distribution::kUniform, 7, 4, 2);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(static_cast<double>(floats[i]), std::floor(block.word[i] / 256.0) / 16777216.0);
    EXPECT_EQ(static_cast<double>(halves[i]), std::floor(block.word[i] / 2097152.0) / 2048.0);
  }
  for (int i = 0; i < 2; ++i) {
    const double upper = block.word[2 * i + 1];
    const double lower = std::floor(block.word[2 * i] / 2048.0);
    EXPECT_EQ(doubles[i], (upper * 2097152.0 + lower) / 9007199254740992.0);
  }
}

// Sample moments of n draws with variance v have standard deviations sqrt(v / n) (mean) and about
// sqrt(2 / n) v (variance; less for the uniform distribution). The limits are six deviations, for
// fixed seeds.
template <class T>
void expect_moments(Distribution distribution, double mean, double variance) {
  constexpr std::size_t kCount = 200000;
  for (const std::uint64_t seed : {0U, 1U, 2U}) {
    const auto x = draw<T>(distribution, seed, 0, kCount);
    double sum = 0;
    double squares = 0;
    for (std::size_t i = 0; i < kCount; ++i) {
      const double deviation = static_cast<double>(x[i]) - mean;
      sum += deviation;
      squares += deviation * deviation;
    }
    EXPECT_NEAR(sum / kCount, 0, 6 * std::sqrt(variance / kCount)) << to_string(dtype_of<T>());
    EXPECT_NEAR(squares / kCount, variance, 6 * std::sqrt(2.0 / kCount) * variance);
  }
}

TEST(Random, MomentsAreThoseOfTheDistribution) {
  expect_moments<float>(Distribution::kUniform, 0.5, 1.0 / 12);
  expect_moments<double>(Distribution::kUniform, 0.5, 1.0 / 12);
  // Draws are cut to multiples of 2^-11 and 2^-8. The cut lowers the mean by half a multiple.
  expect_moments<Float16>(Distribution::kUniform, 0.5 - 0x1p-12, 1.0 / 12);
  expect_moments<BFloat16>(Distribution::kUniform, 0.5 - 0x1p-9, 1.0 / 12);
  expect_moments<float>(Distribution::kNormal, 0, 1);
  expect_moments<double>(Distribution::kNormal, 0, 1);
  expect_moments<Float16>(Distribution::kNormal, 0, 1);
  expect_moments<BFloat16>(Distribution::kNormal, 0, 1);
}

// The largest distance between the empirical and the true distribution function exceeds
// 3 / sqrt(n) with probability 2 exp(-18) (Kolmogorov and Smirnov).
TEST(Random, NormalDrawsAreNormal) {
  constexpr std::size_t kCount = 100000;
  const auto x = draw<double>(Distribution::kNormal, 42, 0, kCount);
  std::vector<double> sorted(x.data(), x.data() + kCount);
  std::sort(sorted.begin(), sorted.end());
  double distance = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    const double below = 0.5 * std::erfc(-sorted[i] / std::sqrt(2.0));
    distance = std::max({distance, std::abs(below - static_cast<double>(i) / kCount),
                         std::abs(below - static_cast<double>(i + 1) / kCount)});
  }
  EXPECT_LT(distance, 3 / std::sqrt(static_cast<double>(kCount)));
}

// Both draws of a pair come from the same radius and angle, but must be independent.
TEST(Random, NeighbouringNormalDrawsAreUncorrelated) {
  constexpr std::size_t kPairs = 100000;
  const auto x = draw<float>(Distribution::kNormal, 5, 0, 2 * kPairs);
  double product = 0;
  for (std::size_t i = 0; i < kPairs; ++i) {
    product += static_cast<double>(x[2 * i]) * static_cast<double>(x[2 * i + 1]);
  }
  EXPECT_NEAR(product / kPairs, 0, 6 / std::sqrt(static_cast<double>(kPairs)));
}

TEST(Random, UniformStaysBelowOneAndNormalIsFinite) {
  const element::RandomBlock ones{{~0U, ~0U, ~0U, ~0U}};
  const element::RandomBlock zeros{{0, 0, 0, 0}};
  testing::for_floating_types([&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    EXPECT_LT(static_cast<double>(element::uniform<T>(ones, 0)), 1);
    EXPECT_GT(static_cast<double>(element::uniform<T>(ones, 0)), 0.99);
    EXPECT_EQ(static_cast<double>(element::uniform<T>(zeros, 0)), 0);
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(std::isfinite(static_cast<double>(element::normal<T>(zeros, i))));
      EXPECT_TRUE(std::isfinite(static_cast<double>(element::normal<T>(ones, i))));
    }
  });
}

}  // namespace
}  // namespace belfry::random_test
