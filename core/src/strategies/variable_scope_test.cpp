// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The effects of options, scopes and creators on variables, and variables of the default strategy.
#include "belfry/backend/host_backend.h"
#include "belfry/current.h"
#include "belfry/strategies.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/code_of.h"
#include "belfry/testing/each_place.h"
#include "belfry/variable.h"
#include "words/report_of_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace belfry::variable_scope_test {
namespace {

using testing::code_of;
using ::testing::Each;
using ::testing::ElementsAre;

class VariableScopes : public ::testing::Test {
 protected:
  HostBackend backend_{2};
  MirroredStrategy strategy_{backend_};
};

TEST_F(VariableScopes, LeaveAnAggregationThatOptionsName) {
  testing::asserts("SEM-47");
  const VariableScope scope = strategy_.replica_local_variable_scope(ReduceOp::kSum);
  const auto mean = strategy_.variable(1.0, {.aggregation = Aggregation::kMean});
  EXPECT_EQ(mean.synchronization(), Synchronization::kOnRead);
  EXPECT_EQ(mean.aggregation(), Aggregation::kMean);
  EXPECT_EQ(strategy_.variable(1.0).aggregation(), Aggregation::kSum);
}

TEST_F(VariableScopes, CountVariablesOfReplicas) {
  HostBackend backend(3);
  MirroredStrategy strategy(backend);
  // Only replica 0 makes a variable, or every replica but replica `odd` does.
  testing::at_each_place(3, [&](int odd) {
    const ErrorReport report = report_of([&] {
      strategy.run([&](ReplicaContext& replica) {
        if ((replica.replica_id() == odd) == (odd == 0)) strategy.variable(1.0);
      });
    });
    EXPECT_EQ(report.code, ErrorCode::kVariableMismatch);
    ASSERT_EQ(report.replicas.size(), 3U);
    for (const ReplicaReport& each : report.replicas) {
      const bool is_odd = each.replica_id == odd;
      EXPECT_EQ(each.what, is_odd == (odd == 0) ? "made 1 variable" : "made 0 variables");
    }
  });
}

TEST_F(VariableScopes, LeaveTheKindOfATypedHandle) {
  testing::asserts("SEM-47");
  {
    const VariableScope scope = strategy_.variable_creator_scope([](VariableOptions& options) {
      options.synchronization = Synchronization::kOnRead;
      options.aggregation = Aggregation::kSum;
    });
    EXPECT_EQ(code_of([&] { strategy_.mirrored_variable(1.0); }), ErrorCode::kVariableMismatch);
    EXPECT_EQ(strategy_.variable(1.0).synchronization(), Synchronization::kOnRead)
        << "this kind was left open";
  }
  const VariableScope scope = strategy_.variable_creator_scope(
      [](VariableOptions& options) { options.synchronization = Synchronization::kOnWrite; });
  EXPECT_EQ(code_of([&] { strategy_.replica_local_variable(ReduceOp::kSum, 1.0); }),
            ErrorCode::kVariableMismatch);
  EXPECT_EQ(strategy_.mirrored_variable(1.0).synchronization(), Synchronization::kOnWrite);
}

TEST_F(VariableScopes, LeaveAKindThatOptionsName) {
  const VariableScope scope = strategy_.replica_local_variable_scope(ReduceOp::kSum);
  EXPECT_EQ(strategy_.mirrored_variable(1.0).synchronization(), Synchronization::kOnWrite);
  const auto mirrored = strategy_.variable(1.0, {.synchronization = Synchronization::kOnWrite});
  EXPECT_EQ(mirrored.synchronization(), Synchronization::kOnWrite);
}

TEST_F(VariableScopes, LeaveDevicesThatOptionsName) {
  testing::asserts("SEM-47");
  const DeviceSpec first = backend_.device_spec(0);
  const DeviceSpec second = backend_.device_spec(1);
  EXPECT_THAT(strategy_.variable(1.0, {.devices = {second}}).devices(), ElementsAre(second));
  const VariableScope scope = strategy_.colocate_variables_with({first});
  EXPECT_THAT(strategy_.mirrored_variable(1.0, {.devices = {second}}).devices(),
              ElementsAre(second));
  EXPECT_EQ(code_of([&] { strategy_.variable(1.0, {.devices = {second, second}}); }),
            ErrorCode::kDuplicateDevice);
}

// A creator decides for its scope: an inner scope has decided before, an outer scope is not asked.
TEST_F(VariableScopes, OfCreatorsNameDevices) {
  testing::asserts("SEM-47");
  const DeviceSpec first = backend_.device_spec(0);
  const DeviceSpec second = backend_.device_spec(1);
  const VariableScope outer = strategy_.colocate_variables_with({first});
  const VariableScope creator = strategy_.variable_creator_scope(
      [&](VariableOptions& options) { options.devices = {second}; });
  EXPECT_THAT(strategy_.variable(1.0).devices(), ElementsAre(second));
  {
    const VariableScope inner = strategy_.colocate_variables_with({first});
    EXPECT_THAT(strategy_.variable(1.0).devices(), ElementsAre(first));
  }
  EXPECT_THAT(strategy_.variable(1.0, {.devices = {first}}).devices(), ElementsAre(first));
}

TEST_F(VariableScopes, LeaveSomeReplicasWithoutAComponent) {
  testing::asserts("SEM-47");
  const VariableScope scope = strategy_.colocate_variables_with({backend_.device_spec(1)});
  const auto shared = strategy_.mirrored_variable(5);
  const auto own = strategy_.replica_local_variable(ReduceOp::kSum, 5);
  const auto code_in = [&](int id, const auto& use) {
    return code_of([&] {
      strategy_.run([&](ReplicaContext& replica) {
        if (replica.replica_id() == id) use(replica);
      });
    });
  };
  const auto read = [&](ReplicaContext& replica) { EXPECT_EQ(shared.on(replica), 5); };
  const auto write = [&](ReplicaContext& replica) { own.on(replica) += 1; };
  const auto assign = [&](ReplicaContext& replica) { replica.assign(own, 7); };
  EXPECT_EQ(code_in(0, read), ErrorCode::kDestination);
  EXPECT_EQ(code_in(0, write), ErrorCode::kDestination);
  EXPECT_EQ(code_in(0, assign), ErrorCode::kDestination);
  EXPECT_THAT(strategy_.local_values(own), ElementsAre(5));
  code_in(1, read);
  code_in(1, assign);
  EXPECT_THAT(strategy_.local_values(own), ElementsAre(7));
}

TEST_F(VariableScopes, PutAnArgumentOfUpdateBesideSomeComponentsAlone) {
  const auto everywhere = strategy_.mirrored_variable(1);
  const VariableScope scope = strategy_.colocate_variables_with({backend_.device_spec(1)});
  const auto beside = strategy_.mirrored_variable(5);
  const auto add = [](int& one, int by) { one += by; };
  CrossReplicaContext& cross = strategy_.cross_replica();
  EXPECT_EQ(code_of([&] { cross.update(everywhere, add, beside); }), ErrorCode::kDestination);
  EXPECT_THAT(strategy_.local_values(everywhere), Each(1));
  cross.update(beside, add, everywhere);
  EXPECT_THAT(strategy_.local_values(beside), ElementsAre(6));
}

TEST_F(VariableScopes, RefuseImpossibleDevices) {
  MirroredStrategy other(backend_);
  const auto foreign = other.mirrored_variable(1.0);
  const auto beside = [this](const auto& place) {
    return code_of([&] { const VariableScope scope = strategy_.colocate_variables_with(place); });
  };
  using Devices = std::vector<DeviceSpec>;
  const DeviceSpec device = backend_.device_spec(0);
  DeviceSpec absent = device;
  absent.index = 7;
  EXPECT_EQ(beside(foreign), ErrorCode::kOtherStrategy);
  EXPECT_EQ(beside(Devices()), ErrorCode::kNoDevices);
  EXPECT_EQ(beside(Devices{device, device}), ErrorCode::kDuplicateDevice);
  EXPECT_EQ(beside(Devices{device, absent}), ErrorCode::kDestination);
  // A refused scope is not in force.
  EXPECT_EQ(strategy_.variable(1.0).devices(), backend_.devices());
}

// A device of the backend without a replica of the strategy.
TEST_F(VariableScopes, RefuseDevicesOfOtherStrategies) {
  MirroredStrategy first(backend_, {.devices = {backend_.device_spec(0)}});
  EXPECT_EQ(code_of([&] {
              const VariableScope scope =
                  first.colocate_variables_with(std::vector{backend_.device_spec(1)});
            }),
            ErrorCode::kDestination);
}

// Scopes for the variables of a strategy that is not current are refused too.
TEST_F(VariableScopes, RefuseToOpenInsideAnotherStrategy) {
  MirroredStrategy other(backend_);
  const auto is_refused = [](const auto& open) {
    return code_of([&] { const VariableScope scope = open(); }) == ErrorCode::kOtherStrategy;
  };
  const auto require_refused = [&] {
    EXPECT_TRUE(is_refused([&] { return other.replica_local_variable_scope(ReduceOp::kSum); }));
    EXPECT_TRUE(is_refused([&] { return other.colocate_variables_with(backend_.devices()); }));
    EXPECT_TRUE(is_refused([&] { return other.variable_creator_scope([](VariableOptions&) {}); }));
  };
  {
    const Scope scope = strategy_.scope();
    require_refused();
  }
  strategy_.run([&](ReplicaContext&) { require_refused(); });
  const VariableScope scope = other.replica_local_variable_scope(ReduceOp::kSum);
  EXPECT_EQ(other.variable(1.0).synchronization(), Synchronization::kOnRead);
}

// Thread by thread, as the scope of a strategy (CTX-33).
TEST_F(VariableScopes, BelongToTheThreadThatOpensThem) {
  int seen = 0;
  const VariableScope creator = strategy_.variable_creator_scope([&](VariableOptions&) { ++seen; });
  const VariableScope local = strategy_.replica_local_variable_scope(ReduceOp::kSum);
  const VariableScope places =
      strategy_.colocate_variables_with(std::vector{backend_.device_spec(1)});
  std::thread([&] {
    const auto plain = strategy_.variable(1.0);
    EXPECT_EQ(plain.synchronization(), Synchronization::kOnWrite);
    EXPECT_EQ(plain.devices(), backend_.devices());
  }).join();
  EXPECT_EQ(seen, 0);
  const auto here = strategy_.variable(1.0);
  EXPECT_EQ(here.synchronization(), Synchronization::kOnRead);
  EXPECT_EQ(here.devices(), std::vector{backend_.device_spec(1)});
  EXPECT_EQ(seen, 1);
}

TEST_F(VariableScopes, NeedAReductionForAggregationOther) {
  const auto make = [this] { strategy_.replica_local_variable(Aggregation::kOther, 1.0); };
  EXPECT_EQ(code_of(make), ErrorCode::kNoAggregation);
  EXPECT_EQ(code_of([&] { strategy_.run([&](ReplicaContext&) { make(); }); }),
            ErrorCode::kNoAggregation);
}

TEST(DefaultStrategy, HasVariables) {
  Strategy& strategy = current_strategy();
  ReplicaContext& replica = *current_replica();
  const auto shared = strategy.mirrored_variable(1.0, {.aggregation = Aggregation::kSum});
  const auto own = strategy.replica_local_variable(ReduceOp::kSum, 2.0);
  EXPECT_EQ(shared.on(replica), 1.0);
  replica.assign(shared, 3.0);
  replica.assign_add(own, 5.0);
  own.on(replica) += 1.0;
  EXPECT_EQ(strategy.read(shared), 3.0);
  EXPECT_EQ(strategy.read(own), 8.0);
}

TEST(DefaultStrategy, LendsItsReplicaToNobody) {
  ReplicaContext& outside = *current_replica();
  const auto own = current_strategy().replica_local_variable(ReduceOp::kSum, 2);
  const auto merge = [&] { return outside.all_reduce(ReduceOp::kSum, 5); };
  const auto touch = [&] { return own.on(outside); };
  EXPECT_EQ(merge(), 5);
  HostBackend backend(2);
  MirroredStrategy strategy(backend);
  strategy.run([&](ReplicaContext&) {
    EXPECT_EQ(code_of(merge), ErrorCode::kMergeNested);
    EXPECT_EQ(code_of(touch), ErrorCode::kWrongContext);
  });
  outside.merge_call(
      [&](CrossReplicaContext&) { EXPECT_EQ(code_of(merge), ErrorCode::kMergeNested); });
  std::thread([&] {
    EXPECT_EQ(code_of(merge), ErrorCode::kMergeNested);
    EXPECT_EQ(code_of(touch), ErrorCode::kWrongContext);
  }).join();
  EXPECT_EQ(merge(), 5);
  EXPECT_EQ(touch(), 2);
}

}  // namespace
}  // namespace belfry::variable_scope_test
