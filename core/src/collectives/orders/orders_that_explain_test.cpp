// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The orders that explain bits: of belfry's algorithms, and of sums by loops (SEM-148).
#include "belfry/belfry.h"
#include "belfry/testing/asserts.h"
#include "collectives/orders/loops_test.h"
#include "collectives/orders/reductions_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belfry::orders_that_explain_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::options_of;
using testing::random_inputs;
using testing::sums_by_loops;
using testing::Table;

template <class T>
bool have_equal_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

bool contains(const std::vector<NamedOrder>& orders, const NamedOrder& order) {
  return std::ranges::find(orders, order) != orders.end();
}

int draw(int first, int last) { return *rc::gen::inRange(first, last + 1); }

int draw_divisor(int number, int last) {
  std::vector<int> divisors;
  for (int divisor = 1; divisor <= last; ++divisor) {
    if (number % divisor == 0) divisors.push_back(divisor);
  }
  return *rc::gen::elementOf(divisors);
}

struct Drawn {
  std::shared_ptr<CrossDeviceOps> algorithm;
  NamedOrder order;
  std::optional<ReductionOrder> option{};  // StrategyOptions::order.
};

Drawn draw_ring(int members) {
  RingOrder ring{.hosts = draw_divisor(members, std::max(1, members / 2))};
  const int replicas = members / ring.hosts;
  ring.start = draw(0, members - 1);
  ring.reversed = draw(0, 1) == 1;
  ring.subchunks = draw(1, replicas);
  ring.rotation = ring.hosts == 1 ? 0 : draw(0, replicas - 1);
  return {std::make_shared<RingAllReduce>(options_of(ring, members)),
          {.kind = OrderKind::kRing, .ring = ring}};
}

NamedOrder groups_of(int size, int members) {
  if (size < 2 || size >= members) return {};
  return {.kind = OrderKind::kGroups, .levels = {size}};
}

Drawn draw_groups(int members) {
  const int size = draw(1, members);
  std::vector<std::vector<int>> groups;
  for (int member = 0; member < members; ++member) {
    if (member % size == 0) groups.emplace_back();
    groups.back().push_back(member);
  }
  return {std::make_shared<HierarchicalAllReduce>(groups), groups_of(size, members)};
}

Drawn draw_algorithm(int members) {
  switch (draw(0, 10)) {
    case 0:
      return {std::make_shared<ReductionToOneDevice>(), {}};
    case 1:
      return {std::make_shared<ShuffleAllReduce>(), {}};
    case 2:
      return {std::make_shared<TreeAllReduce>(), {.kind = OrderKind::kTree}};
    case 3:
      return {std::make_shared<HalvingDoublingAllReduce>(), {.kind = OrderKind::kHalvingDoubling}};
    case 4:
      return {std::make_shared<HierarchicalAllReduce>(),
              groups_of(static_cast<int>(std::ceil(std::sqrt(members))), members)};
    case 5:
      return draw_groups(members);
    case 6:
      return {std::make_shared<ReductionToOneDevice>(),
              {.kind = OrderKind::kTree},
              ReductionOrder::kTree};
    case 7:
      return {std::make_shared<ReductionToOneDevice>(),
              {.kind = OrderKind::kRing},
              ReductionOrder::kRing};
    default:
      return draw_ring(members);
  }
}

template <class T>
Table<T> reduce(const Drawn& drawn, ReduceOp op, const Table<T>& inputs) {
  HostBackend backend(static_cast<int>(inputs.size()));
  MirroredStrategy strategy(backend, {.order = drawn.option, .cross_device_ops = drawn.algorithm});
  const auto results = strategy.run([&](ReplicaContext& replica) {
    const auto& own = inputs[static_cast<std::size_t>(replica.replica_id())];
    const auto tensor = Tensor<T>::from({static_cast<std::int64_t>(own.size())}, own);
    return replica.all_reduce(op, tensor).to_host();
  });
  Table<T> rows;
  for (const auto& result : results) rows.emplace_back(result.begin(), result.end());
  return rows;
}

// An element that no order can have with the sign changed, or none.
template <class T>
std::size_t element_with_a_certain_sign(const Table<T>& inputs, const std::vector<T>& sums) {
  const std::vector<double> once = any_order_bound(inputs);
  const std::vector<double> each = any_order_bound(inputs, SumRounding::kEachAddition);
  std::size_t element = 0;
  while (element < sums.size() &&
         std::fabs(static_cast<float>(sums[element])) <= std::max(once[element], each[element])) {
    ++element;
  }
  return element;
}

template <class T>
void expect_algorithms_are_explained() {
  const int members = draw(1, 17);
  const Drawn drawn = draw_algorithm(members);
  const auto inputs =
      random_inputs<T>(static_cast<std::size_t>(members), static_cast<std::size_t>(draw(1, 150)),
                       *rc::gen::arbitrary<std::uint64_t>());
  const bool is_mean = draw(0, 1) == 1;
  const auto rows = reduce(drawn, is_mean ? ReduceOp::kMean : ReduceOp::kSum, inputs);
  for (const std::vector<T>& row : rows) RC_ASSERT(have_equal_bits(row, rows.front()));
  std::vector<T> result = rows.front();
  const OrderOp op = is_mean ? OrderOp::kMean : OrderOp::kSum;
  RC_ASSERT(explains(drawn.order, inputs, result, op));
  RC_ASSERT(contains(orders_that_explain(inputs, result, op), drawn.order));
  if (is_mean) return;
  const std::size_t element = element_with_a_certain_sign(inputs, result);
  if (element == result.size()) return;
  result[element] = T(-static_cast<float>(result[element]));
  RC_ASSERT(!explains(drawn.order, inputs, result));
  RC_ASSERT(orders_that_explain(inputs, result).empty());
}

RC_GTEST_PROP(OrdersThatExplain, HaveTheAlgorithmThatMadeTheFloats, ()) {
  testing::asserts("SEM-148");
  expect_algorithms_are_explained<float>();
}
RC_GTEST_PROP(OrdersThatExplain, HaveTheAlgorithmThatMadeTheHalves, ()) {
  testing::asserts("SEM-148");
  expect_algorithms_are_explained<Float16>();
}
RC_GTEST_PROP(OrdersThatExplain, HaveTheAlgorithmThatMadeTheBFloats, ()) {
  testing::asserts("SEM-148");
  expect_algorithms_are_explained<BFloat16>();
}

template <class T>
void expect_any_order_is_found(int most_members, std::size_t most_elements, bool all) {
  const int members = draw(1, most_members);
  const std::vector<NamedOrder> orders = named_orders(members, dtype_of<T>());
  const NamedOrder order = *rc::gen::elementOf(orders);
  const auto inputs = random_inputs<T>(static_cast<std::size_t>(members),
                                       *rc::gen::inRange<std::size_t>(1, most_elements + 1),
                                       *rc::gen::arbitrary<std::uint64_t>());
  const std::vector<T> sums = sums_by_loops(order, inputs);
  const std::vector<NamedOrder> answer = orders_that_explain(inputs, sums);
  RC_ASSERT(contains(answer, order));
  if (!all) return;
  for (const NamedOrder& each : orders) {
    RC_ASSERT(contains(answer, each) == have_equal_bits(sums, sums_by_loops(each, inputs)));
  }
}

RC_GTEST_PROP(OrdersThatExplain, HaveAnyNamedOrder, ()) {
  testing::asserts("SEM-148");
  expect_any_order_is_found<float>(17, 100, false);
  expect_any_order_is_found<Float16>(17, 100, false);
  expect_any_order_is_found<BFloat16>(17, 100, false);
}
RC_GTEST_PROP(OrdersThatExplain, AreThoseThatGiveTheBits, ()) {
  testing::asserts("SEM-148");
  expect_any_order_is_found<float>(6, 12, true);
  expect_any_order_is_found<BFloat16>(4, 6, true);
}

// Several blocks of elements, and numbers of members with the most orders.
TEST(OrdersThatExplain, AreFoundInLongTensors) {
  testing::asserts("SEM-148");
  for (const std::size_t members : {16U, 17U}) {
    const auto inputs = random_inputs<float>(members, 5000, members);
    const NamedOrder order{.kind = OrderKind::kRing, .ring = {.start = 5, .subchunks = 3}};
    std::vector<float> sums = sums_by_loops(order, inputs);
    EXPECT_EQ(orders_that_explain(inputs, sums), std::vector<NamedOrder>{order});
    sums.back() = std::nextafter(sums.back(), 0.0F);
    EXPECT_THAT(orders_that_explain(inputs, sums), Not(Contains(order)));
  }
}

TEST(OrdersThatExplain, AreAllIfEveryOrderGivesTheSame) {
  testing::asserts("SEM-148");
  // Small integers: every sum is exact.
  const Table<Float16> inputs{
      {Float16(1), Float16(-2)}, {Float16(3), Float16(5)}, {Float16(2), Float16(7)}};
  const std::vector<NamedOrder> all = named_orders(3, DType::kFloat16);
  EXPECT_EQ(orders_that_explain(inputs, {Float16(6), Float16(10)}), all);
  EXPECT_EQ(orders_that_explain(inputs, {Float16(2), Float16(10.0F / 3)}, OrderOp::kMean), all);
  EXPECT_EQ(orders_that_explain(inputs, {Float16(1), Float16(-2)}, OrderOp::kMin), all);
  EXPECT_EQ(orders_that_explain(inputs, {Float16(3), Float16(7)}, OrderOp::kMax), all);
  EXPECT_EQ(orders_that_explain(inputs, {Float16(6), Float16(-70)}, OrderOp::kProd), all);
  EXPECT_THAT(orders_that_explain(inputs, {Float16(6), Float16(11)}), IsEmpty());
}

TEST(OrdersThatExplain, CompareBitsOfNumbersAndTheClassOfNaN) {
  testing::asserts("SEM-148");
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float infinity = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(explains<float>({}, {{infinity}, {-infinity}}, {nan}));
  EXPECT_TRUE(explains<float>({}, {{nan}, {1}}, {-nan}));
  EXPECT_TRUE(explains<float>({}, {{nan}, {1}}, {nan}, OrderOp::kMin));
  EXPECT_TRUE(explains<float>({}, {{0.0F}, {-0.0F}}, {-0.0F}, OrderOp::kMin));
  EXPECT_TRUE(explains<float>({}, {{-0.0F}, {0.0F}}, {0.0F}, OrderOp::kMax));
  EXPECT_FALSE(explains<float>({}, {{1}, {-1}}, {-0.0F}));
}

TEST(ConformanceOrders, N13_AMeanIsDividedOnce) {
  testing::asserts("SEM-31", "SEM-148");
  // 5 / 3, rounded once; products with the rounded 1 / 3 give the next float.
  const Table<float> inputs{{5}, {0}, {0}};
  EXPECT_TRUE(explains<float>({}, inputs, {1.66666663F}, OrderOp::kMean));
  EXPECT_THAT(orders_that_explain<float>(inputs, {1.66666675F}, OrderOp::kMean), IsEmpty());
}

TEST(ConformanceOrders, N22_SumsOfNegativeZerosAreNegative) {
  testing::asserts("SEM-148");
  EXPECT_TRUE(explains<float>({}, {{-0.0F}, {-0.0F}}, {-0.0F}));
  EXPECT_THAT(orders_that_explain<float>({{-0.0F}, {-0.0F}}, {0.0F}), IsEmpty());
}

TEST(OrdersThatExplain, RefuseRowsOfDifferentLength) {
  testing::asserts("SEM-148");
  const auto refusal = [](const Table<float>& inputs, const NamedOrder& order) -> std::string {
    try {
      explains<float>(order, inputs, {1, 2});
    } catch (const InvalidArgumentError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal({}, {}), HasSubstr("a reduction without inputs"));
  EXPECT_THAT(refusal({{1, 2}, {1}}, {}),
              HasSubstr("the row of member 1 has 1 elements, and 2 are needed"));
  EXPECT_THAT(refusal({{1, 2}}, {.kind = OrderKind::kTree, .root = 1}),
              HasSubstr("the root is impossible"));
}

}  // namespace
}  // namespace belfry::orders_that_explain_test
