// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/host_backend.h"
#include "belfry/strategies.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belfry::central_storage_strategy_test {
namespace {

using ::testing::ElementsAre;

// Four devices: replicas on 1, 2 and 3, variables on 0.
class CentralStorage : public ::testing::Test {
 protected:
  CentralStorageOptions options() {
    return {.devices = {backend_.device_spec(1), backend_.device_spec(2), backend_.device_spec(3)},
            .order = {},
            .storage = backend_.device_spec(0)};
  }

  HostBackend backend_{4};
  CentralStorageStrategy strategy_{backend_, options()};
};

TEST_F(CentralStorage, KeepsOneComponentOnTheStorageDevice) {
  testing::asserts("SEM-110");
  const auto variable = strategy_.mirrored_variable([] { return Tensor<float>::full({2}, 3.0F); });
  EXPECT_THAT(variable.devices(), ElementsAre(backend_.device_spec(0)));
  EXPECT_EQ(strategy_.local_values(variable).size(), 1);
  EXPECT_EQ(strategy_.read(variable).placement().device, 0);
  EXPECT_THAT(strategy_.parameter_devices(), ElementsAre(backend_.device_spec(0)));
  EXPECT_THAT(strategy_.non_slot_devices(), ElementsAre(backend_.device_spec(0)));
  EXPECT_EQ(strategy_.worker_devices(), options().devices);
}

TEST_F(CentralStorage, HandsTheResultOfAnUpdateToEveryReplica) {
  testing::asserts("SEM-113");
  const auto variable = strategy_.mirrored_variable([] { return Tensor<float>::full({1}, 1.0F); });
  const auto seen = strategy_.run([&](ReplicaContext& replica) {
    const Tensor<float> next = replica.merge_call([&](CrossReplicaContext& cross) {
      return cross.update(variable, [](Tensor<float>& w) { return w = add(w, 1.0F); });
    });
    return next.placement() == replica.placement() ? next.item() : -1.0F;
  });
  EXPECT_THAT(seen, ElementsAre(2.0F, 2.0F, 2.0F));
}

// Each component of the variable belongs to a replica on a different device (SEM-110).
TEST_F(CentralStorage, PlacesReplicaLocalVariablesBesideRemoteMirroredVariables) {
  testing::asserts("SEM-110");
  CentralStorageStrategy one(
      backend_,
      {.devices = {backend_.device_spec(1)}, .order = {}, .storage = backend_.device_spec(0)});
  const VariableScope scope = one.colocate_variables_with(one.mirrored_variable(1.0F));
  EXPECT_EQ(one.mirrored_variable(0).devices(), one.parameter_devices());
  EXPECT_EQ(one.replica_local_variable(ReduceOp::kSum, 0).devices(), one.worker_devices());
}

TEST(CentralStorageDefaults, AreAsDocumented) {
  HostBackend backend(3);
  CentralStorageStrategy all(backend);
  EXPECT_EQ(all.num_replicas(), 3);
  EXPECT_EQ(all.storage_device(), backend.device_spec(0));
  CentralStorageStrategy one(backend,
                             {.devices = {backend.device_spec(2)}, .order = {}, .storage = {}});
  EXPECT_EQ(one.storage_device(), backend.device_spec(2));
  DeviceSpec unknown = backend.device_spec(0);
  unknown.index = 9;
  EXPECT_THROW(CentralStorageStrategy(backend, {.devices = {}, .order = {}, .storage = unknown}),
               InvalidArgumentError);
}

}  // namespace
}  // namespace belfry::central_storage_strategy_test
