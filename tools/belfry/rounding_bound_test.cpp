// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "rounding_bound.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace belfry::demo::rounding_bound_test {
namespace {

// 64 examples on 4 replicas of 16: 16 + 4 + 2 and 64 + 2 roundings, 88 units in all. The terms of
// second order are below (22^2 + 66^2 + 64 * 88) u^2 < 2^14 u^2, less than 2^-9 units.
TEST(RoundingBound, CountsTheRoundings) {
  const RoundingBound bound(64, 4, 16);
  EXPECT_GE(bound.gradient(64), 88 * 0x1p-24);
  EXPECT_LE(bound.gradient(64), (88 + 0x1p-9) * 0x1p-24);
  EXPECT_GT(bound.gradient(0), 0);
  EXPECT_LT(bound.gradient(0), 0x1p-146);
}

TEST(RoundingBound, OfAWeightFollowsFromThatOfItsGradient) {
  // rate 1/2, velocities 1, weights 2, an exact gradient: u of each velocity twice (for itself and
  // for its product), times the rate, and u of each weight: (2 + 4) u.
  const double bound = RoundingBound::weight(0, 0.5, {1, 1}, {2, 2});
  EXPECT_GE(bound, 6 * 0x1p-24);
  EXPECT_LE(bound, 6 * 0x1p-24 * (1 + 0x1p-20));
  EXPECT_GE(RoundingBound::weight(1, 0.5, {1, 1}, {2, 2}), 0.5);
}

struct Term {
  float activation;
  float slope;
};

// The two ways to a gradient in binary32, as loops of their own.
float on_replicas(const std::vector<Term>& terms, std::size_t replicas, std::size_t dropped) {
  const auto count = static_cast<float>(terms.size());
  const float weight = static_cast<float>(replicas) / count;
  float total = 0;
  std::size_t begin = 0;
  for (std::size_t replica = 0; replica < replicas; ++replica) {
    const std::size_t size = terms.size() / replicas + (replica < terms.size() % replicas ? 1 : 0);
    float sum = 0;
    for (std::size_t i = begin; i < begin + size; ++i) {
      const float product = terms[i].activation * terms[i].slope;
      sum += product;
    }
    if (replica != dropped) total += sum * weight;
    begin += size;
  }
  return total / static_cast<float>(replicas);
}

struct One {
  float gradient = 0;
  float magnitude = 0;
};

One on_one_device(const std::vector<Term>& terms) {
  One one;
  for (const Term& term : terms) {
    const float product = term.activation * term.slope;
    one.gradient += product;
    one.magnitude += std::abs(product);
  }
  one.gradient *= 1 / static_cast<float>(terms.size());
  return one;
}

constexpr std::size_t kNone = 1000;

// Terms of very different sizes and both signs, with subnormal products.
std::vector<Term> draw_terms() {
  const auto numbers =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<std::pair<std::int16_t, int>>>(
          rc::gen::pair(rc::gen::arbitrary<std::int16_t>(), rc::gen::inRange(-60, 10))));
  std::vector<Term> terms;
  for (const auto& [mantissa, exponent] : numbers) {
    const float x = static_cast<float>(mantissa) / 3;
    terms.push_back({std::ldexp(x, exponent), std::ldexp(1 + std::abs(x), exponent)});
  }
  return terms;
}

RC_GTEST_PROP(RoundingBound, CoversEverySplitOfRandomTerms, ()) {
  const auto terms = draw_terms();
  const auto replicas = static_cast<std::size_t>(*rc::gen::inRange(1, 65));
  const auto share = (terms.size() + replicas - 1) / replicas;
  const One one = on_one_device(terms);
  const RoundingBound bound(static_cast<int>(terms.size()), static_cast<int>(replicas),
                            static_cast<int>(share));
  const double difference = std::abs(double{on_replicas(terms, replicas, kNone)} - one.gradient);
  RC_ASSERT(difference <= bound.gradient(one.magnitude));
}

// A bound that is never exceeded would show nothing. Without the terms of a replica, which are as
// large as the others', the difference is thousands of bounds.
TEST(RoundingBound, IsExceededWhenAReplicaIsLeftOut) {
  std::vector<Term> terms;
  for (int i = 0; i < 64; ++i) terms.push_back({1.0F + 0.01F * static_cast<float>(i), 0.5F});
  const One one = on_one_device(terms);
  const RoundingBound bound(64, 4, 16);
  const auto off = [&](std::size_t dropped) {
    return std::abs(double{on_replicas(terms, 4, dropped)} - one.gradient) /
           bound.gradient(one.magnitude);
  };
  EXPECT_LE(off(kNone), 1);
  for (std::size_t dropped = 0; dropped < 4; ++dropped) EXPECT_GT(off(dropped), 1000) << dropped;
}

}  // namespace
}  // namespace belfry::demo::rounding_bound_test
