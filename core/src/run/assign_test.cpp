// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// What can be assigned, added and subtracted, and where the result lives.
#include "belfry/backend/host_backend.h"
#include "belfry/central_storage_strategy.h"
#include "belfry/integer_mean.h"
#include "belfry/mirrored_strategy.h"
#include "belfry/tensor_ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry {
namespace {

using testing::Each;
using testing::ElementsAre;

ErrorCode code_of(const auto& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::kInternal;
}

class Assign : public testing::Test {
 protected:
  HostBackend backend_{3};
  MirroredStrategy strategy_{backend_};
  CrossReplicaContext& cross_ = strategy_.cross_replica();
};

TEST_F(Assign, RefusesVariablesOfAnotherStrategyAsArguments) {
  MirroredStrategy smaller(backend_, {.devices = {backend_.device_spec(0)}});
  MirroredStrategy equal(backend_);
  const auto own = strategy_.mirrored_variable(1.0);
  const auto refuse = [&](const auto& foreign) {
    int calls = 0;
    const auto change = [&](double& component, double by) {
      ++calls;
      component += by;
    };
    const auto use = [&](double) { ++calls; };
    const auto keep = [&](int, double by) {
      ++calls;
      return by;
    };
    EXPECT_EQ(code_of([&] { cross_.update(own, change, foreign); }), ErrorCode::kOtherStrategy);
    EXPECT_EQ(code_of([&] { cross_.update_non_slot(strategy_.devices(), use, foreign); }),
              ErrorCode::kOtherStrategy);
    EXPECT_EQ(code_of([&] { cross_.map(std::vector<int>{1, 2}, keep, foreign); }),
              ErrorCode::kOtherStrategy);
    EXPECT_EQ(calls, 0);
  };
  refuse(smaller.mirrored_variable(2.0));
  refuse(equal.mirrored_variable(2.0));
  refuse(equal.replica_local_variable(ReduceOp::kSum, 2.0));
  EXPECT_THAT(strategy_.local_values(own), Each(1.0));
}

}  // namespace
}  // namespace belfry
