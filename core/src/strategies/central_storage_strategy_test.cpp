// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/host_backend.h"
#include "belfry/strategies.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace belfry::central_storage_strategy_test {
namespace {

using ::testing::Each;
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
  CrossReplicaContext& cross_ = strategy_.cross_replica();
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

TEST_F(CentralStorage, LetsReplicasSeeVariablesOnTheirOwnDevices) {
  testing::asserts("SEM-111");
  const auto variable = strategy_.mirrored_variable([] { return Tensor<float>::full({2}, 3.0F); });
  const auto seen = strategy_.run([&](ReplicaContext& replica) {
    EXPECT_EQ(variable.on(replica).placement(), replica.placement());
    const auto own = Tensor<float>::full({2}, static_cast<float>(replica.replica_id()));
    return multiply(variable.on(replica), own).to_host()[1];
  });
  EXPECT_THAT(seen, ElementsAre(0.0F, 3.0F, 6.0F));
}

TEST_F(CentralStorage, UpdatesOnceWhereTheVariableLives) {
  testing::asserts("SEM-111", "SEM-113");
  const auto variable = strategy_.mirrored_variable([] { return Tensor<float>::full({1}, 1.0F); });
  std::vector<int> devices;
  const auto seen = strategy_.run([&](ReplicaContext& replica) {
    replica.merge_call(
        [&](CrossReplicaContext& cross, const PerReplica<Tensor<float>>& gradients) {
          cross.update(
              variable,
              [&](Tensor<float>& w, const Tensor<float>& sum) {
                devices.push_back(w.placement().device);
                devices.push_back(sum.placement().device);
                w = add(w, sum);
              },
              cross.reduce(ReduceOp::kSum, gradients));
        },
        Tensor<float>::full({1}, 2.0F));
    return variable.on(replica).item();
  });
  EXPECT_THAT(devices, ElementsAre(0, 0));
  EXPECT_THAT(seen, Each(7.0F));
  EXPECT_EQ(strategy_.read(variable).item(), 7.0F);
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

TEST_F(CentralStorage, GivesEveryReplicaItsReplicaLocalComponent) {
  const auto local = strategy_.replica_local_variable(
      ReduceOp::kSum, [] { return Tensor<float>::full({1}, 1.0F); });
  EXPECT_EQ(local.devices(), strategy_.worker_devices());
  strategy_.run([&](ReplicaContext& replica) {
    local.on(replica) = add(local.on(replica), static_cast<float>(replica.replica_id()));
  });
  EXPECT_EQ(strategy_.read(local).item(), 6.0F);
  // Also beside a variable that all replicas share.
  const auto variable = strategy_.mirrored_variable(1.0F);
  const VariableScope scope = strategy_.colocate_variables_with(variable);
  EXPECT_EQ(strategy_.replica_local_variable(ReduceOp::kSum, 0).devices(),
            strategy_.worker_devices());
  EXPECT_EQ(strategy_.mirrored_variable(0).devices(), strategy_.parameter_devices());
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

TEST_F(CentralStorage, UpdatesStateOfNoVariableOnTheStorageDevice) {
  const auto sum = cross_.broadcast(Tensor<float>::full({1}, 4.0F, strategy_.placement(1)));
  std::vector<int> seen;
  cross_.update_non_slot(
      strategy_.non_slot_devices(),
      [&](const Tensor<float>& here) {
        seen.push_back(here.placement().device);
        seen.push_back(static_cast<int>(here.item()));
      },
      sum);
  EXPECT_THAT(seen, ElementsAre(0, 4));
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
