// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Named orders: names, trees, results by hand, rows of the conformance table (SEM-148).
#include "belfry/addition_order.h"

#include "belfry/belfry.h"
#include "belfry/testing/asserts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace belfry::addition_order_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

NamedOrder with_root(OrderKind kind, int root) { return {.kind = kind, .root = root}; }
NamedOrder ring(RingOrder ring) { return {.kind = OrderKind::kRing, .ring = ring}; }
NamedOrder groups(std::vector<int> levels) {
  return {.kind = OrderKind::kGroups, .levels = std::move(levels)};
}

std::string tree_of(const NamedOrder& order, int members, std::size_t element = 0,
                    std::size_t elements = 1) {
  return to_string(additions(order, {members, elements, DType::kFloat32}, element));
}

// The results for as many elements as members: an element is a chunk of a plain ring.
std::vector<float> results(NamedOrder order, const std::vector<float>& inputs,
                           DType dtype = DType::kFloat32) {
  if (dtype != DType::kFloat32) order.rounding = SumRounding::kEachAddition;
  const ReducedTensor tensor{static_cast<int>(inputs.size()), inputs.size(), dtype};
  std::vector<float> results;
  for (std::size_t i = 0; i < tensor.elements; ++i) {
    results.push_back(evaluate(additions(order, tensor, i), inputs,
                               {.dtype = dtype, .rounding = order.rounding}));
  }
  return results;
}

// The columns of the table: left fold; balanced tree and groups; rings with start 1 and start 0.
void expect_row(const std::vector<float>& inputs, DType dtype, float left_fold, float tree,
                const std::vector<float>& start_1, const std::vector<float>& start_0) {
  EXPECT_EQ(results({}, inputs, dtype), std::vector<float>(4, left_fold));
  EXPECT_EQ(results({.kind = OrderKind::kTree}, inputs, dtype), std::vector<float>(4, tree));
  EXPECT_EQ(results(groups({2}), inputs, dtype), std::vector<float>(4, tree));
  EXPECT_EQ(results(ring({.start = 1}), inputs, dtype), start_1);
  EXPECT_EQ(results(ring({}), inputs, dtype), start_0);
}

TEST(ConformanceOrders, N01_AFloatThatTakesOneIn) {
  testing::asserts("SEM-148");
  expect_row({1e8F, 1, -1e8F, 1}, DType::kFloat32, 1, 0, {0, 1, 0, 1}, {1, 0, 1, 0});
}

TEST(ConformanceOrders, N03_FloatsThatCancelFirst) {
  testing::asserts("SEM-148");
  expect_row({1e8F, -1e8F, 1, 1}, DType::kFloat32, 2, 2, {0, 0, 1, 2}, {2, 0, 0, 1});
}

TEST(ConformanceOrders, N05_HalvesRoundedAtEachAddition) {
  testing::asserts("SEM-148");
  expect_row({2048, 1, 1, 1}, DType::kFloat16, 2048, 2050, {2052, 2052, 2048, 2048},
             {2048, 2052, 2052, 2048});
}

TEST(ConformanceOrders, N06_HalvesWithTheLargeOneLast) {
  testing::asserts("SEM-148");
  expect_row({1, 1, 1, 2048}, DType::kFloat16, 2052, 2050, {2052, 2048, 2048, 2052},
             {2052, 2052, 2048, 2048});
}

TEST(ConformanceOrders, N08_N09_GroupsOfEight) {
  testing::asserts("SEM-148");
  for (const std::size_t members : {10U, 11U}) {
    std::vector<float> inputs(members, 1);
    inputs[0] = 16777216;  // 2^24; adding 1 is a tie that goes to 2^24.
    EXPECT_EQ(results({}, inputs)[0], 16777216);
    EXPECT_EQ(results({.kind = OrderKind::kGroupsOfEight}, inputs)[0], 16777224);
  }
}

TEST(ConformanceOrders, N10_AReusedBufferComesFirst) {
  testing::asserts("SEM-148");
  EXPECT_EQ(results(with_root(OrderKind::kGroupsOfEight, 0), {1, 1e8F, -1e8F})[0], 0);
  EXPECT_EQ(results(with_root(OrderKind::kGroupsOfEight, 2), {1, 1e8F, -1e8F})[0], 1);
}

TEST(NamedOrders, HaveTrees) {
  testing::asserts("SEM-148");
  EXPECT_EQ(tree_of({}, 4), "(((x0 + x1) + x2) + x3)");
  EXPECT_EQ(tree_of({}, 1), "x0");
  EXPECT_EQ(tree_of(with_root(OrderKind::kTree, 0), 5), "(((x0 + x1) + (x2 + x3)) + x4)");
  EXPECT_EQ(tree_of(with_root(OrderKind::kTree, 3), 5), "(((x3 + x4) + (x0 + x1)) + x2)");
  EXPECT_EQ(tree_of(with_root(OrderKind::kRootFirst, 2), 4), "(((x2 + x0) + x1) + x3)");
  EXPECT_EQ(tree_of({.kind = OrderKind::kHalvingDoubling}, 5), "(((x0 + x1) + x2) + (x3 + x4))");
  EXPECT_EQ(tree_of(groups({2, 2}), 8), "(((x0 + x1) + (x2 + x3)) + ((x4 + x5) + (x6 + x7)))");
  EXPECT_EQ(tree_of(groups({3}), 5), "(((x0 + x1) + x2) + (x3 + x4))");
}

// An algorithm has `order` among four enumerators, and one of the named orders.
void expect_named(const CrossDeviceOps& algorithm, int members, ReductionOrder enumerator,
                  const NamedOrder& order) {
  SCOPED_TRACE(std::string(algorithm.name()) + " of " + std::to_string(members));
  HostBackend backend(members);
  std::vector<int> indices(static_cast<std::size_t>(members));
  for (int i = 0; i < members; ++i) indices[static_cast<std::size_t>(i)] = i;
  ReplicaDevices devices(backend, indices);
  EXPECT_EQ(algorithm.order(devices), enumerator);
  EXPECT_TRUE(algorithm.can_add_in(enumerator, devices));
  const ReductionPlan plan = algorithm.plan(members).value();
  // Each element is a chunk.
  const auto elements = static_cast<std::size_t>(plan.chunks);
  for (int chunk = 0; chunk < plan.chunks; ++chunk) {
    EXPECT_EQ(plan.additions(chunk), additions(order, {members, elements, DType::kFloat32},
                                               static_cast<std::size_t>(chunk)));
  }
}

TEST(NamedOrders, OfGroupsOfEightBeginWithTheRemainder) {
  testing::asserts("SEM-148");
  const NamedOrder order = with_root(OrderKind::kGroupsOfEight, 0);
  EXPECT_EQ(tree_of(order, 3), "((x0 + x1) + x2)");
  EXPECT_EQ(tree_of(order, 8), tree_of({}, 8));
  EXPECT_EQ(tree_of(order, 9), tree_of({}, 9));
  EXPECT_EQ(tree_of(with_root(OrderKind::kGroupsOfEight, 1), 10),
            "((x1 + x0) + (((((((x2 + x3) + x4) + x5) + x6) + x7) + x8) + x9))");
}

TEST(NamedOrders, AreThoseOfAlgorithmsAlsoWithoutAnEnumerator) {
  testing::asserts("SEM-146", "SEM-147", "SEM-148");
  const ReductionOrder none = ReductionOrder::kUnspecified;
  expect_named(ReductionToOneDevice(), 6, ReductionOrder::kReplicaOrder, {});
  expect_named(ShuffleAllReduce(), 6, ReductionOrder::kReplicaOrder, {});
  expect_named(TreeAllReduce(), 6, ReductionOrder::kTree, {.kind = OrderKind::kTree});
  expect_named(RingAllReduce(), 6, ReductionOrder::kRing, ring({}));
  expect_named(HalvingDoublingAllReduce(), 8, ReductionOrder::kTree, {.kind = OrderKind::kTree});
  expect_named(HalvingDoublingAllReduce(), 6, none, {.kind = OrderKind::kHalvingDoubling});
  expect_named(HierarchicalAllReduce(), 5, none, groups({3}));
  expect_named(RingAllReduce({.start = 1}), 6, none, ring({.start = 1}));
  expect_named(RingAllReduce({.subchunks = 2}), 6, none, ring({.subchunks = 2}));
  expect_named(RingAllReduce({.hosts = 2, .permutation = {2, 1, 0}}), 6, none,
               ring({.reversed = true, .hosts = 2}));
}

TEST(NamedOrders, HaveNames) {
  testing::asserts("SEM-148");
  std::ostringstream text;
  text << NamedOrder{} << "; " << with_root(OrderKind::kTree, 0) << "; "
       << with_root(OrderKind::kTree, 2) << "; " << with_root(OrderKind::kRootFirst, 1) << "; "
       << with_root(OrderKind::kGroupsOfEight, 0) << "; " << groups({2, 4}) << "; "
       << ring({.start = 1, .reversed = true}) << "; " << tensorflow_order() << "; "
       << ring({.subchunks = 2, .hosts = 2, .rotation = 1}) << "; " << ring({.count = 6}) << "; "
       << NamedOrder{.kind = OrderKind::kHalvingDoubling, .rounding = SumRounding::kEachAddition};
  EXPECT_EQ(text.str(),
            "replica order; tree; tree, root 2; root 1 first; groups of eight; "
            "groups of 2, then of 4; ring, start 1, reversed; ring, chunks of cache lines; "
            "ring, 2 subchunks, 2 hosts, rotation 1; ring, 6 chunks; "
            "halving and doubling, rounded at each addition");
}

TEST(NamedOrders, AreListedOnceEachAndAllHaveTrees) {
  testing::asserts("SEM-148");
  for (const int members : {1, 2, 6, 17}) {
    const std::vector<NamedOrder> orders = named_orders(members, DType::kFloat32);
    EXPECT_EQ(orders.front(), NamedOrder{});
    for (const NamedOrder& order : orders) {
      EXPECT_NO_THROW(additions(order, {members, 1, DType::kFloat32}, 0)) << order;
    }
  }
  const std::vector<NamedOrder> orders = named_orders(6, DType::kBFloat16);
  for (std::size_t i = 0; i < orders.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(orders[i], orders[j]) << orders[i];
  }
}

TEST(NamedOrders, OfFewMembersAreKnownByHand) {
  testing::asserts("SEM-148");
  std::vector<std::string> names;
  for (const NamedOrder& order : named_orders(1, DType::kFloat32)) {
    names.push_back(to_string(order));
  }
  EXPECT_THAT(
      names,
      ElementsAre("replica order", "tree", "root 0 first", "groups of eight",
                  "halving and doubling", "ring", "ring, reversed", "ring, chunks of cache lines",
                  "ring, chunks of cache lines, reversed", "ring, remainder last",
                  "ring, remainder last, reversed", "ring, one chunk", "ring, one chunk, reversed",
                  "ring, 2 chunks", "ring, 2 chunks, reversed", "ring, 3 chunks",
                  "ring, 3 chunks, reversed", "ring, 4 chunks", "ring, 4 chunks, reversed"));
}

TEST(NamedOrders, OfFourMembersAreCounted) {
  testing::asserts("SEM-148");
  // Rings of one host: 4 starts in 2 directions, with 2 rules, 3 more numbers of subchunks, and 16
  // numbers of chunks. Rings of two hosts: 4 starts, 2 directions and 2 rotations, with 3 rules, a
  // chain and 2 subchunks.
  constexpr std::size_t rings = 4 * 2 * (2 + 3 + 16) + 4 * 2 * 2 * (3 + 1 + 1);
  // Replica order; 4 roots of 3 kinds; halving and doubling; groups of 2 and of 3.
  constexpr std::size_t others = 1 + 4 * 3 + 1 + 2;
  EXPECT_EQ(named_orders(4, DType::kFloat32).size(), rings + others);
  EXPECT_EQ(named_orders(4, DType::kFloat16).size(), 2 * (rings + others));
}

TEST(Trees, AreDrawn) {
  testing::asserts("SEM-148");
  EXPECT_EQ(draw(additions({.kind = OrderKind::kTree}, {.members = 4}, 0)),
            "+\n"
            "|-- +\n"
            "|   |-- x0\n"
            "|   `-- x1\n"
            "`-- +\n"
            "    |-- x2\n"
            "    `-- x3\n");
  EXPECT_EQ(draw(AdditionTree{7}), "x7\n");
}

TEST(Trees, AreEvaluatedWithEachOperator) {
  testing::asserts("SEM-148");
  const AdditionTree tree = additions({}, {.members = 3}, 0);
  const std::vector<float> inputs{3, -0.5F, 8};
  const auto result = [&](OrderOp op) { return evaluate(tree, inputs, {.op = op}); };
  EXPECT_EQ(result(OrderOp::kSum), 10.5F);
  EXPECT_EQ(result(OrderOp::kMean), 3.5F);
  EXPECT_EQ(result(OrderOp::kMin), -0.5F);
  EXPECT_EQ(result(OrderOp::kMax), 8);
  EXPECT_EQ(result(OrderOp::kProd), -12);
}

TEST(Trees, RoundHalvesOnceOrAtEachAddition) {
  testing::asserts("SEM-33", "SEM-148");
  const AdditionTree tree = additions({}, {.members = 4}, 0);
  const std::vector<float> inputs{2048, 1, 1, 1};
  const auto result = [&](OrderOp op, SumRounding rounding) {
    return evaluate(tree, inputs, {.dtype = DType::kFloat16, .op = op, .rounding = rounding});
  };
  // 2051 is a tie between 2050 and 2052, which has the even fraction.
  EXPECT_EQ(result(OrderOp::kSum, SumRounding::kOnce), 2052);
  EXPECT_EQ(result(OrderOp::kSum, SumRounding::kEachAddition), 2048);
  // 512.75 is a tie between 512.5 and 513.
  EXPECT_EQ(result(OrderOp::kMean, SumRounding::kOnce), 513);
  EXPECT_EQ(result(OrderOp::kMean, SumRounding::kEachAddition), 512);
}

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const InvalidArgumentError& error) {
    return error.what();
  }
  return "";
}

std::string refusal_of(const NamedOrder& order, DType dtype = DType::kFloat32) {
  return refusal([&] { additions(order, {4, 1, dtype}, 0); });
}

TEST(NamedOrders, WithImpossibleParametersAreRefused) {
  testing::asserts("SEM-148");
  EXPECT_THAT(refusal_of(with_root(OrderKind::kTree, 4)), HasSubstr("the root is impossible"));
  EXPECT_THAT(refusal_of(with_root(OrderKind::kTree, -1)), HasSubstr("the root is impossible"));
  EXPECT_THAT(refusal_of(with_root(OrderKind::kRing, 1)), HasSubstr("the root is impossible"));
  for (const RingOrder& wrong :
       {RingOrder{.start = 4}, RingOrder{.start = -1}, RingOrder{.subchunks = 5},
        RingOrder{.subchunks = 3, .hosts = 2}, RingOrder{.hosts = 3}, RingOrder{.hosts = 4},
        RingOrder{.rotation = 1}, RingOrder{.hosts = 2, .rotation = 2},
        RingOrder{.chunks = RingChunks::kCacheLines, .subchunks = 2},
        RingOrder{.chunks = RingChunks::kCacheLines, .count = 1}, RingOrder{.count = 4},
        RingOrder{.count = 17}, RingOrder{.count = -1}, RingOrder{.count = 2, .hosts = 2},
        RingOrder{.count = 1, .subchunks = 2}}) {
    EXPECT_THAT(refusal_of(ring(wrong)), HasSubstr("the ring is impossible"));
  }
  EXPECT_THAT(refusal_of({.ring = {.start = 1}}), HasSubstr("the ring is impossible"));
  for (const std::vector<int>& wrong :
       std::vector<std::vector<int>>{{}, {1}, {4}, {3, 2}, {2, 2}}) {
    EXPECT_THAT(refusal_of(groups(wrong)), HasSubstr("the levels are impossible"));
  }
  const NamedOrder rounded{.rounding = SumRounding::kEachAddition};
  EXPECT_THAT(refusal_of(rounded), HasSubstr("float32 is never rounded at each addition"));
  EXPECT_EQ(refusal_of(rounded, DType::kBFloat16), "");
}

TEST(NamedOrders, RefuseWrongArguments) {
  testing::asserts("SEM-148");
  EXPECT_THAT(refusal([] { named_orders(0, DType::kFloat32); }), HasSubstr("0 members"));
  EXPECT_THAT(refusal([] { named_orders(2, DType::kInt32); }), HasSubstr("sums of int32"));
  EXPECT_THAT(refusal([] { additions({}, {.members = 2, .elements = 3}, 3); }),
              HasSubstr("element 3 of a tensor with 3 elements"));
  EXPECT_THAT(refusal([] { evaluate(AdditionTree{2}, std::vector<float>{1, 2}); }),
              HasSubstr("additions of x2, and there are 2 inputs"));
}

}  // namespace
}  // namespace belfry::addition_order_test
