// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/operation.h"

#include <gtest/gtest.h>

#include <set>

namespace belfry::operation_test {
namespace {

TEST(AgentId, PrintsALetterAndANumber) {
  EXPECT_EQ(to_string(AgentId{AgentId::Kind::kReplica, 2}), "R2");
  EXPECT_EQ(to_string(AgentId{AgentId::Kind::kMerge, 0}), "M0");
  EXPECT_EQ(to_string(AgentId{AgentId::Kind::kStream, 15}), "S15");
  EXPECT_EQ(to_string(AgentId{}), "H0");
}

TEST(OperationKind, EveryKindHasItsOwnName) {
  std::set<std::string> names;
  const int kinds = static_cast<int>(OperationKind::kRunEnd) + 1;
  for (int i = 0; i < kinds; ++i) names.insert(to_string(static_cast<OperationKind>(i)));
  EXPECT_EQ(names.size(), 20U);
  EXPECT_EQ(names.count("?"), 0U);
  EXPECT_STREQ(to_string(OperationKind::kArrive), "arrive");
  EXPECT_STREQ(to_string(OperationKind::kVariableRead), "variable_read");
}

}  // namespace
}  // namespace belfry::operation_test
