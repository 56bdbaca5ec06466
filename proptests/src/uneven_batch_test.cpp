// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/testing/uneven_batch.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <set>
#include <sstream>
#include <vector>

namespace belfry::testing::uneven_batch_test {
namespace {

// Values of `generator` from the seeds 1 to 2000: the same in each run, however many cases a
// property has.
template <class T>
std::vector<T> drawn_from(const rc::Gen<T>& generator) {
  std::vector<T> values;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    values.push_back(generator(rc::Random(seed), rc::kNominalSize).value());
  }
  return values;
}

// From -8 to 8 in steps of 1/4: 65 numbers.
TEST(ExactNumbers, AreAllMultiplesOfAQuarterUpToEight) {
  std::set<int> drawn;
  for (const ExactNumber& number : drawn_from(exact_number())) drawn.insert(number.quarters);
  EXPECT_EQ(*drawn.begin(), -32);
  EXPECT_EQ(*drawn.rbegin(), 32);
  EXPECT_EQ(drawn.size(), 65U);
}

RC_GTEST_PROP(ExactNumbers, HaveTheSameSumInFloatAndDouble,
              (const std::vector<ExactNumber>& numbers)) {
  float narrow = 0;
  double wide = 0;
  double products = 0;
  for (const ExactNumber& number : numbers) {
    narrow += number.as<float>();
    wide += number;
    products += number * number;
  }
  RC_ASSERT(double(narrow) == wide);
  RC_ASSERT(std::floor(16 * products) == 16 * products);
}

// A failing property ends at the simplest number that fails.
TEST(ExactNumbers, ShrinkTowardsZeroThroughWholeNumbers) {
  const auto simplest = [](const std::function<bool(double)>& fails) {
    rc::Shrinkable<ExactNumber> best = exact_number()(rc::Random(3), rc::kNominalSize);
    for (int n = 1; !fails(best.value()); ++n) {
      best = exact_number()(rc::Random(static_cast<std::uint64_t>(n)), rc::kNominalSize);
    }
    for (bool shrunk = true; shrunk;) {
      shrunk = false;
      auto candidates = best.shrinks();
      while (const auto next = candidates.next()) {
        if (!fails(next->value())) continue;
        best = *next;
        shrunk = true;
        break;
      }
    }
    return double(best.value());
  };
  EXPECT_EQ(simplest([](double) { return true; }), 0);
  EXPECT_EQ(simplest([](double x) { return x != 0; }), 1);
  EXPECT_EQ(simplest([](double x) { return x != std::floor(x); }), 0.25);
}

RC_GTEST_PROP(UnevenBatches, GiveEachExampleToOneReplica, (const UnevenBatch& batch)) {
  const int replicas = *rc::gen::inRange(1, 9);
  std::vector<double> shared;
  for (int replica = 0; replica < replicas; ++replica) {
    const std::vector<double> share = batch.share(replica, replicas);
    shared.insert(shared.end(), share.begin(), share.end());
  }
  std::vector<double> whole = batch.whole();
  RC_ASSERT(whole.size() == batch.examples.size());
  std::ranges::sort(shared);
  std::ranges::sort(whole);
  RC_ASSERT(shared == whole);
}

TEST(UnevenBatches, HaveEmptySharesAndSharesOfDifferentSizes) {
  bool some_empty = false;
  bool some_differ = false;
  for (const UnevenBatch& batch : drawn_from(uneven_batch())) {
    const std::size_t first = batch.share(0, 3).size();
    const std::size_t last = batch.share(2, 3).size();
    some_differ = some_differ || (first != last && first > 0 && last > 0);
    some_empty = some_empty || (first == 0 && last > 0);
  }
  EXPECT_TRUE(some_empty);
  EXPECT_TRUE(some_differ);
}

TEST(UnevenBatches, ArePrintedWithTheirOwners) {
  std::ostringstream text;
  showValue(UnevenBatch{{{{4}, 0}, {{-9}, 7}}}, text);
  EXPECT_EQ(text.str(), "[1 of replica 0, -2.25 of replica 7]");
}

}  // namespace
}  // namespace belfry::testing::uneven_batch_test
