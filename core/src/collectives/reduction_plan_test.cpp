// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The steps and chunks of the plans of algorithms (SEM-147).
#include "belfry/belfry.h"
#include "belfry/planned_all_reduce.h"
#include "belfry/testing/asserts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace belfry::reduction_plan_test {
namespace {

using ::testing::ElementsAre;

TEST(Steps, AreAsManyAsTheAlgorithmsState) {
  testing::asserts("SEM-147");
  const auto steps = [](const CrossDeviceOps& algorithm, int members) {
    return algorithm.plan(members).value().steps();
  };
  EXPECT_EQ(steps(RingAllReduce(), 5), 8U);             // 2 (N - 1)
  EXPECT_EQ(steps(TreeAllReduce(), 8), 6U);             // 2 log2 N
  EXPECT_EQ(steps(TreeAllReduce(), 9), 8U);             // 2 ceil(log2 9)
  EXPECT_EQ(steps(HalvingDoublingAllReduce(), 8), 6U);  // 2 log2 P
  EXPECT_EQ(steps(HalvingDoublingAllReduce(), 9), 8U);  // 2 log2 P + 2
  EXPECT_EQ(steps(ShuffleAllReduce(), 6), 2U);
  EXPECT_EQ(steps(HierarchicalAllReduce(), 9), 4U);
  EXPECT_EQ(steps(ReductionToOneDevice(), 9), 2U);
  EXPECT_EQ(steps(RingAllReduce(), 1), 0U);
}

TEST(Chunks, AreRoundedUpOrHaveTheRemainderLast) {
  testing::asserts("SEM-32", "SEM-147");
  const ReductionPlan ring = RingAllReduce().plan(4).value();
  EXPECT_THAT(ring.chunk_begins(10), ElementsAre(0, 3, 6, 9, 10));
  EXPECT_THAT(ring.chunk_begins(5), ElementsAre(0, 2, 4, 5, 5));
  EXPECT_THAT(ring.chunk_begins(8), ElementsAre(0, 2, 4, 6, 8));
  EXPECT_THAT(ring.chunk_begins(0), ElementsAre(0, 0, 0, 0, 0));
  const ReductionPlan shuffle = ShuffleAllReduce().plan(4).value();
  EXPECT_THAT(shuffle.chunk_begins(11), ElementsAre(0, 2, 4, 6, 11));
  EXPECT_THAT(shuffle.chunk_begins(3), ElementsAre(0, 0, 0, 0, 3));
}

TEST(Plans, ArePrintedStepByStep) {
  EXPECT_EQ(to_string(HalvingDoublingAllReduce().plan(2).value()),
            "step 1: 0 adds chunk 0 of 0, 1; 1 adds chunk 1 of 0, 1\n"
            "step 2: 0 copies chunk 1 from 1; 1 copies chunk 0 from 0\n"
            "chunk 0: (x0 + x1)\n"
            "chunk 1: (x0 + x1)\n");
}

TEST(Plans, PrintTheirParts) {
  std::ostringstream text;
  text << LinkTraffic{2, 96} << "; " << LinkTraffic{1, 8} << "; " << AdditionTree{3};
  EXPECT_EQ(text.str(), "2 copies, 96 bytes; 1 copy, 8 bytes; x3");
}

TEST(Plans, OfCommunicatorsAreNotKnown) {
  testing::asserts("SEM-147");
  EXPECT_FALSE(NativeAllReduce().plan(4).has_value());
}

}  // namespace
}  // namespace belfry::reduction_plan_test
