// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/reductions/reduce_op.h"

#include "belfry/error.h"
#include "words/report_of_test.h"

#include <gtest/gtest.h>

namespace belfry::reduce_op_test {
namespace {

TEST(ReduceOp, Prints) {
  EXPECT_EQ(to_string(ReduceOp::kSum), "sum");
  EXPECT_EQ(to_string(ReduceOp::kMean), "mean");
  EXPECT_EQ(to_string(ReduceOp::kMax), "max");
  EXPECT_EQ(to_string(ReduceOp::kMin), "min");
  EXPECT_EQ(to_string(ReduceOp::kProd), "prod");
  EXPECT_EQ(to_string(static_cast<ReduceOp>(7)), "reduce_op(7)");
}

TEST(ReduceOp, IsParsedInAnyCaseOfLetters) {
  for (const char* name : {"sum", "SUM", "Sum"}) EXPECT_EQ(parse_reduce_op(name), ReduceOp::kSum);
  for (const char* name : {"mean", "MEAN"}) EXPECT_EQ(parse_reduce_op(name), ReduceOp::kMean);
  EXPECT_EQ(parse_reduce_op("Max"), ReduceOp::kMax);
  EXPECT_EQ(parse_reduce_op("MIN"), ReduceOp::kMin);
  EXPECT_EQ(parse_reduce_op("prod"), ReduceOp::kProd);
}

TEST(ReduceOp, UnknownNamesAreRefused) {
  for (const char* name : {"", "maximum", "sums", " sum", "average"}) {
    const ErrorReport report = report_of([&] { parse_reduce_op(name); });
    EXPECT_EQ(report.code, ErrorCode::kInvalidArgument);
    EXPECT_NE(to_string(report).find('"' + std::string(name) + '"'), std::string::npos);
  }
}

TEST(ReductionOrder, Prints) {
  EXPECT_EQ(to_string(ReductionOrder::kReplicaOrder), "replica order");
  EXPECT_EQ(to_string(ReductionOrder::kTree), "tree");
  EXPECT_EQ(to_string(ReductionOrder::kRing), "ring");
  EXPECT_EQ(to_string(ReductionOrder::kUnspecified), "unspecified");
}

}  // namespace
}  // namespace belfry::reduce_op_test
