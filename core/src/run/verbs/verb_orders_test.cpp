// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The order of the additions over elements of lists and axes. In float, 2^24 + 1 is a tie that goes
// to 2^24, and 2^24 + 2 is a number: the sum keeps only addends before the large addend.
#include "belfry/backend/host_backend.h"
#include "belfry/strategies.h"
#include "belfry/testing/asserts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace belfry::verb_orders_test {
namespace {

using Floats = std::vector<float>;

constexpr float kLarge = 16777216.0F;

// Elements are added from left to right, for any order of the strategy and any division of the
// elements among replicas (SEM-123).
TEST(MappedElements, AreAddedFromLeftToRight) {
  testing::asserts("SEM-123");
  HostBackend backend(2);
  MirroredStrategy strategy(backend, {.order = ReductionOrder::kTree});
  CrossReplicaContext& cross = strategy.cross_replica();
  const auto sum = [&](const PerReplica<Floats>& lists) {
    return cross.reduce_mapped(ReduceOp::kSum, lists).value();
  };
  // A tree would have (2^24 + 1) + (1 + 1).
  EXPECT_EQ(sum({{kLarge, 1, 1}, {1}}), kLarge);
  EXPECT_EQ(sum({{kLarge, 1}, {1, 1}}), kLarge);
  EXPECT_EQ(sum({{1, 1}, {kLarge}}), kLarge + 2);
  EXPECT_EQ(sum({{1}, {1, kLarge}}), kLarge + 2);
}

// A kernel takes 32. Their sum, 2079, is a tie in 16 bits that goes to 2080; 2080 + 3 is a tie that
// goes to 2084.
TEST(MappedElements, Of16BitsAreRoundedOnce) {
  HostBackend backend(2);
  MirroredStrategy strategy(backend);
  const Placement here = strategy.placement(0);
  const auto half = [&](float value) { return Tensor<Float16>::full({1}, Float16(value), here); };
  std::vector<Tensor<Float16>> first(20, half(1));
  first[0] = half(2048);
  const PerReplica<std::vector<Tensor<Float16>>> lists{first,
                                                       std::vector<Tensor<Float16>>(15, half(1))};
  const auto sum = strategy.cross_replica().reduce_mapped(ReduceOp::kSum, lists);
  EXPECT_EQ(static_cast<float>(sum.value().item()), 2082.0F);
}

// SEM-120: each replica's own in ascending order, then replica by replica.
TEST(AxisElements, AreAddedInAscendingOrderThenByReplica) {
  testing::asserts("SEM-120");
  HostBackend backend(3);
  MirroredStrategy strategy(backend);
  CrossReplicaContext& cross = strategy.cross_replica();
  const auto sum = [&](const PerReplica<Floats>& lists) {
    const auto tensors = strategy.distribute_values([&](int id) {
      return Tensor<float>::from({static_cast<std::int64_t>(lists[id].size())}, lists[id]);
    });
    const float host = cross.reduce(ReduceOp::kSum, lists, Axis(0)).value();
    EXPECT_EQ(cross.reduce(ReduceOp::kSum, tensors, Axis(0)).value().item(), host);
    return host;
  };
  EXPECT_EQ(sum({{kLarge, 1, 1}, {}, {}}), kLarge);
  EXPECT_EQ(sum({{1, 1, kLarge}, {}, {}}), kLarge + 2);
  EXPECT_EQ(sum({{}, {}, {1, 1, kLarge}}), kLarge + 2);
  EXPECT_EQ(sum({{kLarge}, {1}, {1}}), kLarge);
  EXPECT_EQ(sum({{1}, {1}, {kLarge}}), kLarge + 2);
  // The elements of a replica make a sum before the elements of the next replica are added.
  EXPECT_EQ(sum({{kLarge}, {1, 1}, {}}), kLarge + 2);
}

}  // namespace
}  // namespace belfry::verb_orders_test
