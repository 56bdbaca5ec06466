// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "shuffle.h"

#include "belfry/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace belfry::demo::shuffle_test {
namespace {

using ::testing::ElementsAre;

// Computed by a second implementation, in a different language with unbounded integers.
TEST(CounterRandom, GivesTheSameNumbersEverywhere) {
  CounterRandom random(7, 3);
  EXPECT_EQ(random.next(), 0xd3dd092059fbc64cU);
  EXPECT_EQ(random.next(), 0xa85bb1ca3c7ecea3U);
  EXPECT_EQ(random.next(), 0x1976bbad3c263d6eU);
}

TEST(CounterRandom, BelowStaysBelow) {
  CounterRandom random(1, 0);
  EXPECT_EQ(random.below(1), 0U);
  for (int i = 0; i < 1000; ++i) EXPECT_LT(random.below(3), 3U);
}

TEST(Shuffled, GivesTheSameOrderEverywhere) {
  EXPECT_THAT(shuffled(10, 1, 0), ElementsAre(5, 6, 4, 3, 0, 9, 8, 2, 7, 1));
  EXPECT_THAT(shuffled(10, 1, 1), ElementsAre(3, 6, 7, 1, 4, 8, 2, 9, 0, 5));
  EXPECT_THAT(shuffled(10, 2, 0), ElementsAre(9, 2, 7, 3, 5, 4, 1, 0, 6, 8));
  EXPECT_THAT(shuffled(0, 1, 0), ElementsAre());
  EXPECT_THAT(shuffled(1, 1, 0), ElementsAre(0));
}

// Every element is equally likely in every place. Of 1000 shuffles of 5 each count is binomial with
// mean 200 and deviation 12.65; these fixed seeds stay within 4.5 deviations.
TEST(Shuffled, FavoursNoPlace) {
  std::vector<std::vector<int>> counts(5, std::vector<int>(5, 0));
  for (int seed = 0; seed < 1000; ++seed) {
    const auto order = shuffled(5, static_cast<std::uint64_t>(seed), 0);
    for (std::size_t place = 0; place < 5; ++place) {
      ++counts[place][static_cast<std::size_t>(order[place])];
    }
  }
  for (const auto& row : counts) {
    for (const int count : row) EXPECT_NEAR(count, 200, 57);
  }
}

TEST(Split, HoldsOutAFifthOfTheProjectsImages) {
  const Split parts = split(1797, 1);
  EXPECT_EQ(parts.training.size(), 1438U);
  EXPECT_EQ(parts.held_out.size(), 359U);
  std::vector<int> all = parts.training;
  all.insert(all.end(), parts.held_out.begin(), parts.held_out.end());
  EXPECT_THAT(std::vector<int>(all.begin(), all.begin() + 4), ElementsAre(774, 1426, 462, 623));
  EXPECT_THAT(std::vector<int>(all.end() - 4, all.end()), ElementsAre(1420, 858, 1570, 607));
  std::sort(all.begin(), all.end());
  std::vector<int> expected(1797);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(all, expected);
}

TEST(Split, NeedsFiveImages) {
  EXPECT_EQ(split(5, 1).held_out.size(), 1U);
  EXPECT_THROW(split(4, 1), InvalidArgumentError);
}

}  // namespace
}  // namespace belfry::demo::shuffle_test
