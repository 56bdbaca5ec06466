// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The bound of sums in any order (SEM-148).
#include "belfry/addition_order.h"
#include "belfry/testing/asserts.h"
#include "collectives/orders/reductions_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace belfry::any_order_bound_test {
namespace {

using ::testing::ElementsAre;

// The formula, or a little more: the computation of a bound is rounded, too.
void expect_at_least(double bound, double formula) {
  EXPECT_GE(bound, formula);
  EXPECT_LE(bound, formula * (1 + 1e-14));
}

TEST(AnyOrderBound, IsKnownByHand) {
  testing::asserts("SEM-148");
  // Three inputs, 2 u / (1 - 2 u) with u = 2^-24.
  const std::vector<double> of_floats = any_order_bound<float>({{1, 0}, {-2, 0}, {4, 0}});
  ASSERT_EQ(of_floats.size(), 2U);
  expect_at_least(of_floats[0], 7 * 0x1p-23 / (1 - 0x1p-23));
  EXPECT_EQ(of_floats[1], 0);
  EXPECT_THAT(any_order_bound<float>({{5}}), ElementsAre(0));
  // One addition, rounded to bfloat16: u = 2^-8.
  const std::vector<std::vector<BFloat16>> pair{{BFloat16(1)}, {BFloat16(3)}};
  expect_at_least(any_order_bound(pair, SumRounding::kEachAddition)[0], 4 * 0x1p-8 / (1 - 0x1p-8));
  // One addition in float, and the last rounding of a sum of at most 4 (1 + g).
  const double g = 0x1p-24 / (1 - 0x1p-24);
  expect_at_least(any_order_bound(pair)[0], 4 * (g + 0x1p-8 * (1 + g)));
}

TEST(AnyOrderBound, IsInfiniteIfErrorsMayExceedTheSum) {
  testing::asserts("SEM-148");
  const std::vector<std::vector<BFloat16>> many(257, {BFloat16(1)});
  EXPECT_TRUE(std::isinf(any_order_bound(many, SumRounding::kEachAddition)[0]));
  EXPECT_TRUE(std::isfinite(any_order_bound(many)[0]));
}

// A random tree: any two of the sums that are left are added.
AdditionTree random_tree(std::size_t members, std::uint64_t seed) {
  std::vector<AdditionTree> sums;
  for (std::size_t i = 0; i < members; ++i) sums.push_back({.member = static_cast<int>(i)});
  while (sums.size() > 1) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    const auto at = sums.begin() + static_cast<std::ptrdiff_t>((seed >> 33) % sums.size());
    std::iter_swap(at, sums.end() - 1);
    const AdditionTree right = sums.back();
    sums.pop_back();
    sums.front() = {.member = 0, .terms = {AdditionTree(sums.front()), right}};
    std::rotate(sums.begin(), sums.begin() + 1, sums.end());
  }
  return sums.front();
}

template <class T>
void expect_bound_holds(SumRounding rounding) {
  const auto members = *rc::gen::inRange<std::size_t>(1, 18);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto inputs = testing::random_inputs<T>(members, 20, seed);
  const std::vector<double> bounds = any_order_bound(inputs, rounding);
  const AdditionTree tree = random_tree(members, seed);
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    std::vector<float> values;
    for (const auto& row : inputs) values.push_back(row[i]);
    const double exact = std::accumulate(values.begin(), values.end(), 0.0);
    const double sum = evaluate(tree, values, {.dtype = dtype_of<T>(), .rounding = rounding});
    RC_ASSERT(std::fabs(sum - exact) <= bounds[i]);
  }
}

RC_GTEST_PROP(ConformanceOrders, N21_EveryOrderOfFloatsIsInTheBound, ()) {
  testing::asserts("SEM-148");
  expect_bound_holds<float>(SumRounding::kOnce);
}
RC_GTEST_PROP(AnyOrderBound, HoldsForHalvesRoundedOnce, ()) {
  testing::asserts("SEM-148");
  expect_bound_holds<Float16>(SumRounding::kOnce);
  expect_bound_holds<BFloat16>(SumRounding::kOnce);
}
RC_GTEST_PROP(AnyOrderBound, HoldsForHalvesRoundedAtEachAddition, ()) {
  testing::asserts("SEM-148");
  expect_bound_holds<Float16>(SumRounding::kEachAddition);
  expect_bound_holds<BFloat16>(SumRounding::kEachAddition);
}

}  // namespace
}  // namespace belfry::any_order_bound_test
