// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Reads of variables, handles of variables, and the devices of tensors in variables.
#include "belfry/backend/host_backend.h"
#include "belfry/strategies.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/code_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <type_traits>
#include <utility>

namespace belfry::variable_reads_test {
namespace {

using testing::code_of;
using ::testing::Each;
using ::testing::ElementsAre;

// A type without a list of members is no nest.
struct Opaque {
  Tensor<float> tensor;
};

class VariableReads : public ::testing::Test {
 protected:
  static Tensor<float> four() { return Tensor<float>::full({1}, 4.0F); }

  // Whether fn(replica) is the device of replica 0 on replica 0, 1, 2.
  template <class Fn>
  PerReplica<bool> on_device_of_replica_0(Fn fn) {
    return strategy_.run(
        [&](ReplicaContext& replica) { return fn(replica) == strategy_.placement(0); });
  }

  HostBackend backend_{3};
  MirroredStrategy strategy_{backend_};
};

TEST_F(VariableReads, AreComponent0OfAMirroredVariable) {
  testing::asserts("SEM-46");
  const auto variable = strategy_.mirrored_variable(four);
  EXPECT_EQ(strategy_.read(variable).item(), 4.0F);
  EXPECT_EQ(strategy_.read(variable).placement(), strategy_.placement(0));
}

TEST_F(VariableReads, OfAllComponentsAreCopies) {
  testing::asserts("SEM-46");
  const auto mirrored = strategy_.mirrored_variable(5);
  const auto local = strategy_.replica_local_variable(ReduceOp::kSum, 0);
  strategy_.run([&](ReplicaContext& replica) { local.on(replica) = replica.replica_id(); });
  const auto mirrored_before = strategy_.local_values(mirrored);
  const auto local_before = strategy_.local_values(local);
  strategy_.cross_replica().update(mirrored, [](int& component) { component = 6; });
  strategy_.run([&](ReplicaContext& replica) { local.on(replica) += 10; });
  EXPECT_THAT(mirrored_before, Each(5));
  EXPECT_THAT(local_before, ElementsAre(0, 1, 2));
  EXPECT_THAT(strategy_.local_values(mirrored), Each(6));
  EXPECT_THAT(strategy_.local_values(local), ElementsAre(10, 11, 12));
}

TEST_F(VariableReads, InReplicasAreOfTheReplicasOwnConstantComponent) {
  testing::asserts("SEM-43");
  const auto variable = strategy_.mirrored_variable(four);
  const auto fine = strategy_.run([&](ReplicaContext& replica) {
    static_assert(std::is_same_v<decltype(variable.on(replica)), const Tensor<float>&>);
    return variable.on(replica).placement() == replica.placement();
  });
  EXPECT_THAT(fine, Each(true));
}

TEST_F(VariableReads, FindTensorsInNestsOnTheReplicasDevices) {
  testing::asserts("SEM-21");
  const auto nest = strategy_.mirrored_variable([] { return std::pair(1, four()); });
  EXPECT_THAT(on_device_of_replica_0(
                  [&](ReplicaContext& replica) { return nest.on(replica).second.placement(); }),
              ElementsAre(true, false, false));
}

TEST_F(VariableReads, FindTensorsInOtherTypesWhereTheyWereMade) {
  testing::asserts("SEM-21");
  const auto opaque = strategy_.mirrored_variable([] { return Opaque{four()}; });
  const auto beside = strategy_.mirrored_variable([] { return std::pair(Opaque{}, four()); });
  EXPECT_THAT(on_device_of_replica_0(
                  [&](ReplicaContext& replica) { return opaque.on(replica).tensor.placement(); }),
              Each(true));
  EXPECT_THAT(on_device_of_replica_0(
                  [&](ReplicaContext& replica) { return beside.on(replica).second.placement(); }),
              Each(true));
}

TEST_F(VariableReads, ThroughCopiesOfAHandleAreOfOneVariable) {
  testing::asserts("SEM-44");
  std::optional first = strategy_.mirrored_variable(1);
  const MirroredVariable<int> copy = *first;
  const MirroredVariable<int> other = strategy_.mirrored_variable(1);
  EXPECT_TRUE(copy == *first);
  EXPECT_FALSE(other == *first);
  strategy_.cross_replica().update(copy, [](int& component) { component = 2; });
  EXPECT_EQ(strategy_.read(*first), 2);
  first.reset();
  EXPECT_EQ(strategy_.read(copy), 2);
  EXPECT_EQ(strategy_.read(other), 1);
}

TEST_F(VariableReads, ThatAreNoSumsHaveNoTotal) {
  testing::asserts("SEM-57");
  for (const Aggregation aggregation : {Aggregation::kMean, Aggregation::kOnlyFirst}) {
    const auto local = strategy_.replica_local_variable(aggregation, 1.0);
    EXPECT_EQ(code_of([&] { strategy_.cross_replica().assign_total(local, 3.0); }),
              ErrorCode::kInvalidArgument);
    EXPECT_THAT(strategy_.local_values(local), Each(1.0));
  }
}

}  // namespace
}  // namespace belfry::variable_reads_test
