// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Conformance rows about sums and means of replicas that need devices. Rows about named orders are
// in core/src/collectives/orders.
#include "belfry/planned_all_reduce.h"
#include "belfry/reduction.h"
#include "belfry/testing/asserts.h"
#include "suites/residence.h"
#include "suites/strategy_fixture.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace belfry::testing::conformance_orders {
namespace {

using Int = std::int32_t;

template <class Where>
class ArithmeticRows : public NumericRows<Where, StrategyFixture> {};

// Hierarchical copy of the older system halves the devices, rounds down, and forgets the last: 3
// and 15. Every group of belfry's algorithm has all of its members.
TEST(Conformance, N11_N12_HierarchiesOfOddNumbersAddEveryReplica) {
  testing::asserts("SEM-147");
  for (const auto& [replicas, sum] : {std::pair{3, 7.0F}, {5, 31.0F}}) {
    StrategyFixture fixture(replicas);
    fixture.strategy.configure({.cross_device_ops = std::make_shared<HierarchicalAllReduce>()});
    const auto powers = per_replica(
        fixture, [](int id) { return Tensor<float>::full({3}, static_cast<float>(1 << id)); });
    const auto sums = fixture.cross.reduce(ReduceOp::kSum, powers);
    for (const Tensor<float>& got : list_of(sums)) {
      EXPECT_EQ(got.to_host(), std::vector<float>(3, sum));
    }
  }
}

// The mean of two integers, on each of two replicas.
template <class Where>
std::vector<Int> truncated_means(StrategyFixture& fixture, Int first, Int second) {
  return list_of(fixture.strategy.run([&](ReplicaContext& replica) {
    const auto own = Where::number(replica.replica_id() == 0 ? first : second);
    return Where::value(replica.all_reduce(TruncatedMean{}, own));
  }));
}

template <class Where, class T>
ErrorCode code_of_mean(StrategyFixture& fixture, T first, T second) {
  const auto values =
      per_replica(fixture, [&](int id) { return Where::number(id == 0 ? first : second); });
  return code_of([&] { fixture.cross.reduce(ReduceOp::kMean, values); });
}

// Overridden: MEAN of integers is refused. A TruncatedMean rounds towards zero, as NCCL does.
TYPED_TEST_F(ArithmeticRows, N15_N16_MeansOfIntegersSayHowToRound) {
  testing::asserts("SEM-35", "SEM-39");
  StrategyFixture& fixture = this->fixture();
  EXPECT_EQ((code_of_mean<TypeParam, Int>(fixture, 7, 8)), ErrorCode::kIntegerMean);
  EXPECT_EQ((code_of_mean<TypeParam, Int>(fixture, -7, -8)), ErrorCode::kIntegerMean);
  EXPECT_EQ(truncated_means<TypeParam>(fixture, 7, 8), std::vector<Int>({7, 7}));
  EXPECT_EQ(truncated_means<TypeParam>(fixture, -7, -8), std::vector<Int>({-7, -7}));
}

TYPED_TEST_F(ArithmeticRows, N17_SumsOfIntegersWrap) {
  testing::asserts("SEM-35", "SEM-39");
  StrategyFixture& fixture = this->fixture();
  const Int first = 2147483647;
  const auto values =
      per_replica(fixture, [&](int id) { return TypeParam::number(id == 0 ? first : Int{1}); });
  EXPECT_EQ(TypeParam::value(fixture.cross.reduce(ReduceOp::kSum, values).value()),
            std::numeric_limits<Int>::min());
  // Overridden: MEAN is refused, and a TruncatedMean divides the sum of more bits: 2^31 / 2.
  EXPECT_EQ((code_of_mean<TypeParam, Int>(fixture, first, 1)), ErrorCode::kIntegerMean);
  EXPECT_EQ(truncated_means<TypeParam>(fixture, first, 1),
            std::vector<Int>({1073741824, 1073741824}));
}

TYPED_TEST_F(ArithmeticRows, N19_MeansOfFlagsAreRefused) {
  testing::asserts("SEM-35");
  StrategyFixture& fixture = this->fixture();
  const auto flags = per_replica(fixture, [](int id) { return TypeParam::number(id == 0); });
  for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMean}) {
    EXPECT_EQ(code_of([&] { fixture.cross.reduce(op, flags); }), ErrorCode::kDType);
  }
}

}  // namespace
}  // namespace belfry::testing::conformance_orders
