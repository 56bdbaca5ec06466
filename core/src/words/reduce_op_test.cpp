// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/reduce_op.h"

#include <gtest/gtest.h>

namespace belfry {
namespace {

TEST(ReduceOp, Prints) {
  EXPECT_EQ(to_string(ReduceOp::kSum), "sum");
  EXPECT_EQ(to_string(ReduceOp::kMean), "mean");
  EXPECT_EQ(to_string(static_cast<ReduceOp>(7)), "reduce_op(7)");
}

TEST(ReductionOrder, Prints) {
  EXPECT_EQ(to_string(ReductionOrder::kReplicaOrder), "replica order");
  EXPECT_EQ(to_string(ReductionOrder::kTree), "tree");
  EXPECT_EQ(to_string(ReductionOrder::kRing), "ring");
  EXPECT_EQ(to_string(ReductionOrder::kUnspecified), "unspecified");
}

}  // namespace
}  // namespace belfry
