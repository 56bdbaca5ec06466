// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// A factory may require names of all merges of the strategies it makes (SEM-133).
#include "belfry/testing/strategy_factory.h"

#include "belfry/backend/host_backend.h"
#include "belfry/error.h"
#include "belfry/strategies.h"

#include <gtest/gtest.h>

#include <memory>

namespace belfry::testing::strategy_factory_test {
namespace {

/// A suite of a user, whose merges have names if `named`.
void sum_twice(Strategy& strategy, bool named) {
  strategy.run([named](ReplicaContext& replica) {
    for (const char* name : {"w", "b"}) {
      if (named)
        replica.all_reduce(MergeTag{name}, ReduceOp::kSum, 1);
      else
        replica.all_reduce(ReduceOp::kSum, 1);
    }
  });
}

ErrorCode code_of_unnamed(Strategy& strategy) {
  try {
    sum_twice(strategy, false);
  } catch (const MergeMismatchError& error) {
    return error.code();
  }
  return ErrorCode::kInternal;
}

TEST(StrategyOf, RequiresNamesIfItsTraitsSaySo) {
  HostBackend backend{2};
  const StrategyOf<MirroredStrategy> factory("mirrored", {.require_names = true});
  const std::unique_ptr<Strategy> strategy = factory.make(backend, {});
  EXPECT_EQ(code_of_unnamed(*strategy), ErrorCode::kMergeUnnamed);
  EXPECT_NO_THROW(sum_twice(*strategy, true));
}

TEST(StrategyOf, RequiresNamesIfTheOptionsSaySo) {
  HostBackend backend{2};
  const StrategyOf<MirroredStrategy> factory("mirrored");
  EXPECT_EQ(code_of_unnamed(*factory.make(backend, {.require_names = true})),
            ErrorCode::kMergeUnnamed);
  EXPECT_NO_THROW(sum_twice(*factory.make(backend, {}), false));
}

}  // namespace
}  // namespace belfry::testing::strategy_factory_test
