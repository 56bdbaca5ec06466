// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The additions, steps and chunks of the plans of algorithms (SEM-147).
#include "belfry/belfry.h"
#include "belfry/planned_all_reduce.h"
#include "belfry/testing/asserts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace belfry::reduction_plan_test {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> additions_of(const CrossDeviceOps& algorithm, int members) {
  const ReductionPlan plan = algorithm.plan(members).value();
  std::vector<std::string> trees;
  for (int chunk = 0; chunk < plan.chunks; ++chunk) {
    trees.push_back(to_string(plan.additions(chunk)));
  }
  return trees;
}

TEST(Additions, OfATreeArePairwise) {
  testing::asserts("SEM-32", "SEM-147");
  const TreeAllReduce tree;
  EXPECT_THAT(additions_of(tree, 1), ElementsAre("x0"));
  EXPECT_THAT(additions_of(tree, 3), ElementsAre("((x0 + x1) + x2)"));
  EXPECT_THAT(additions_of(tree, 4), ElementsAre("((x0 + x1) + (x2 + x3))"));
  EXPECT_THAT(additions_of(tree, 5), ElementsAre("(((x0 + x1) + (x2 + x3)) + x4)"));
  EXPECT_THAT(additions_of(tree, 7), ElementsAre("(((x0 + x1) + (x2 + x3)) + ((x4 + x5) + x6))"));
}

TEST(Additions, OfHalvingAndDoublingAreABalancedTreeOfMembersAndPairs) {
  testing::asserts("SEM-147");
  const HalvingDoublingAllReduce algorithm;
  const std::string of_four = "((x0 + x1) + (x2 + x3))";
  EXPECT_THAT(additions_of(algorithm, 4), ElementsAre(of_four, of_four, of_four, of_four));
  const std::string of_three = "((x0 + x1) + x2)";
  EXPECT_THAT(additions_of(algorithm, 3), ElementsAre(of_three, of_three));
  // Pairs: 0 with 1. Members that are left: 0, 2, 3, 4.
  const std::string of_five = "(((x0 + x1) + x2) + (x3 + x4))";
  EXPECT_THAT(additions_of(algorithm, 5), ElementsAre(of_five, of_five, of_five, of_five));
}

TEST(Additions, OfARingStartAtTheOwnerOfTheChunk) {
  testing::asserts("SEM-32", "SEM-147");
  EXPECT_THAT(additions_of(RingAllReduce(), 3),
              ElementsAre("((x0 + x1) + x2)", "((x1 + x2) + x0)", "((x2 + x0) + x1)"));
  EXPECT_THAT(additions_of(RingAllReduce({.start = 1}), 3),
              ElementsAre("((x1 + x2) + x0)", "((x2 + x0) + x1)", "((x0 + x1) + x2)"));
  EXPECT_THAT(additions_of(RingAllReduce({.permutation = {0, 2, 1}}), 3),
              ElementsAre("((x0 + x2) + x1)", "((x2 + x1) + x0)", "((x1 + x0) + x2)"));
  // Two rings: 0, 1 and 1, 0. Chunks 0 and 2 are of the first.
  EXPECT_THAT(additions_of(RingAllReduce({.subchunks = 2}), 2),
              ElementsAre("(x0 + x1)", "(x1 + x0)", "(x1 + x0)", "(x0 + x1)"));
}

TEST(Additions, OfShuffleAndOfOneDeviceAreInReplicaOrder) {
  testing::asserts("SEM-147");
  const std::string in_order = "(((x0 + x1) + x2) + x3)";
  EXPECT_THAT(additions_of(ShuffleAllReduce(2), 4), ElementsAre(in_order, in_order));
  EXPECT_THAT(additions_of(ReductionToOneDevice(), 4), ElementsAre(in_order));
}

TEST(Additions, OfAHierarchyAreThoseOfItsGroups) {
  testing::asserts("SEM-147");
  EXPECT_THAT(additions_of(HierarchicalAllReduce(), 5),
              ElementsAre("(((x0 + x1) + x2) + (x3 + x4))"));
  EXPECT_THAT(additions_of(HierarchicalAllReduce({{0, 2}, {1}, {4, 3}}), 5),
              ElementsAre("(((x0 + x2) + x1) + (x3 + x4))"));
  // Other groups than the members have: ceil(sqrt 3) each.
  EXPECT_THAT(additions_of(HierarchicalAllReduce({{0, 1}}), 3), ElementsAre("((x0 + x1) + x2)"));
}

// The members below a tree, from left to right.
void list_members(const AdditionTree& tree, std::vector<int>& members) {
  if (tree.terms.empty()) members.push_back(tree.member);
  for (const AdditionTree& term : tree.terms) list_members(term, members);
}

TEST(Additions, HaveEachMemberOnceForEveryNumberOfMembers) {
  const std::vector<std::shared_ptr<CrossDeviceOps>> algorithms{
      std::make_shared<RingAllReduce>(), std::make_shared<TreeAllReduce>(),
      std::make_shared<HalvingDoublingAllReduce>(), std::make_shared<ShuffleAllReduce>(),
      std::make_shared<HierarchicalAllReduce>()};
  for (const auto& algorithm : algorithms) {
    for (int members = 1; members <= 17; ++members) {
      const ReductionPlan plan = algorithm->plan(members).value();
      for (int chunk = 0; chunk < plan.chunks; ++chunk) {
        std::vector<int> list;
        list_members(plan.additions(chunk), list);
        EXPECT_EQ(list.size(), static_cast<std::size_t>(members));
        EXPECT_EQ(std::set<int>(list.begin(), list.end()).size(), list.size());
      }
    }
  }
}

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
