// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Variables with a single component beside mirrored variables (SEM-47, SEM-111).
#include "belfry/backend/host_backend.h"
#include "belfry/checkpoint.h"
#include "belfry/strategies.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/code_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace belfry::one_device_variable_test {
namespace {

using testing::code_of;
using ::testing::ElementsAre;

class OneDeviceVariables : public ::testing::Test {
 protected:
  DeviceSpec device(int index) { return backend_.device_spec(index); }
  auto bank(int home) {
    const VariableScope scope = strategy_.one_device_variable_scope(device(home));
    return strategy_.mirrored_variable([] { return Tensor<float>::full({2}, 5); },
                                       {.name = "bank", .aggregation = Aggregation::kSum});
  }

  // Replicas on devices 0 to 2; device 3 has no replica.
  HostBackend backend_{4};
  MirroredStrategy strategy_{backend_, {.devices = {device(0), device(1), device(2)}}};
  CrossReplicaContext& cross_ = strategy_.cross_replica();
};

TEST_F(OneDeviceVariables, AreSeenByEveryReplica) {
  testing::asserts("SEM-47");
  testing::asserts("SEM-111");
  for (int home : {0, 1, 3}) {
    const auto variable = bank(home);
    EXPECT_THAT(variable.devices(), ElementsAre(device(home)));
    EXPECT_EQ(variable.name(), "bank");
    const auto seen = strategy_.run([&](ReplicaContext& replica) {
      const Tensor<float>& own = variable.on(replica);
      return std::pair(own.placement().device, own.to_host());
    });
    for (int replica = 0; replica < 3; ++replica) {
      EXPECT_EQ(seen[replica], std::pair(replica, std::vector<float>{5, 5}));
    }
    EXPECT_EQ(strategy_.local_values(variable).size(), 1U);
  }
}

TEST_F(OneDeviceVariables, AreUpdatedOnceWithTheValuesOfTheirDevice) {
  testing::asserts("SEM-111");
  const auto variable = bank(1);
  const auto weight = strategy_.mirrored_variable(3.0F);
  int calls = 0;
  strategy_.run([&](ReplicaContext& replica) {
    replica.merge_call(
        [&](CrossReplicaContext& cross, const PerReplica<Tensor<float>>& all) {
          const auto sum = cross.reduce(ReduceOp::kSum, all);
          cross.update(
              variable,
              [&](Tensor<float>& own, const Tensor<float>& by, float factor) {
                ++calls;
                EXPECT_EQ(by.placement().device, 1);
                own = own + by * factor;
              },
              sum, weight);
        },
        Tensor<float>::full({2}, 1.0F + replica.replica_id()));
  });
  EXPECT_EQ(calls, 1);
  // 5 + 3 (1 + 2 + 3), and every replica sees the new value.
  const auto seen =
      strategy_.run([&](ReplicaContext& replica) { return variable.on(replica).to_host()[1]; });
  EXPECT_THAT(seen, ElementsAre(23, 23, 23));
}

TEST_F(OneDeviceVariables, AreAssignedInReplicasByTheirAggregation) {
  const auto variable = bank(3);
  strategy_.run([&](ReplicaContext& replica) {
    replica.assign_add(variable, Tensor<float>::full({2}, 1.0F + replica.replica_id()));
  });
  EXPECT_THAT(strategy_.read(variable).to_host(), ElementsAre(11, 11));
}

TEST_F(OneDeviceVariables, AreArgumentsOfUpdatesOfMirroredVariables) {
  const auto variable = bank(3);
  const auto weight =
      strategy_.mirrored_variable([] { return Tensor<float>::full({2}, 1, current_placement()); });
  cross_.update(weight, [](Tensor<float>& w, const Tensor<float>& b) { w = w + b; }, variable);
  for (const auto& component : strategy_.local_values(weight)) {
    EXPECT_THAT(component.to_host(), ElementsAre(6, 6));
  }
}

TEST_F(OneDeviceVariables, AreSavedRestoredAndPutBack) {
  const auto variable = bank(1);
  Checkpoint saved{strategy_};
  saved.add(variable);
  const TensorFile file = saved.contents();
  const auto add_one = [&] {
    cross_.update(variable, [](Tensor<float>& own) { own = own + 1.0F; });
  };
  add_one();
  const auto seen = [&] {
    return strategy_.run([&](ReplicaContext& c) { return variable.on(c).to_host()[0]; });
  };
  EXPECT_THAT(seen(), ElementsAre(6, 6, 6));
  saved.restore(file);
  EXPECT_THAT(seen(), ElementsAre(5, 5, 5));
  EXPECT_THROW(strategy_.transaction([&] {
    add_one();
    throw std::runtime_error("no");
  }),
               std::runtime_error);
  EXPECT_THAT(seen(), ElementsAre(5, 5, 5));
}

TEST_F(OneDeviceVariables, MadeInReplicasAreOne) {
  const auto variable = strategy_.run([&](ReplicaContext&) {
    const VariableScope scope = strategy_.one_device_variable_scope(device(2));
    return strategy_.mirrored_variable(7);
  });
  EXPECT_THAT(variable.devices(), ElementsAre(device(2)));
  EXPECT_THAT(strategy_.run([&](ReplicaContext& c) { return variable.on(c); }),
              ElementsAre(7, 7, 7));
}

TEST_F(OneDeviceVariables, LeaveReplicaLocalVariablesWithTheirReplicas) {
  testing::asserts("SEM-47");
  const VariableScope scope = strategy_.one_device_variable_scope(device(1));
  const auto local = strategy_.replica_local_variable(ReduceOp::kSum, 1);
  EXPECT_THAT(local.devices(), ElementsAre(device(0), device(1), device(2)));
  // The inner scope wins.
  const VariableScope inner = strategy_.colocate_variables_with(std::vector{device(0)});
  EXPECT_THAT(strategy_.mirrored_variable(1).devices(), ElementsAre(device(0)));
}

TEST_F(OneDeviceVariables, NeedADeviceOfTheBackend) {
  DeviceSpec absent = device(0);
  absent.index = 9;
  EXPECT_EQ(code_of([&] { const auto scope = strategy_.one_device_variable_scope(absent); }),
            ErrorCode::kDestination);
}

}  // namespace
}  // namespace belfry::one_device_variable_test
