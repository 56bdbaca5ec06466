// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/strategy.h"

#include "belfry/backend/host_backend.h"
#include "belfry/current.h"
#include "belfry/strategies.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/code_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace belfry::strategy_test {
namespace {

using testing::code_of;
using ::testing::ElementsAre;

TEST(Strategies, MirrorAllDevicesOfABackend) {
  HostBackend backend(3);
  MirroredStrategy strategy(backend);
  EXPECT_EQ(strategy.num_replicas(), 3);
  EXPECT_EQ(strategy.worker_devices(), backend.devices());
  EXPECT_EQ(strategy.parameter_devices(), backend.devices());
  EXPECT_EQ(strategy.non_slot_devices(), backend.devices());
  EXPECT_EQ(&strategy.backend(), &backend);
}

TEST(Strategies, RefuseImpossibleDevices) {
  HostBackend backend(2);
  const DeviceSpec first = backend.device_spec(0);
  DeviceSpec unknown = first;
  unknown.index = 7;
  EXPECT_EQ(code_of([&] { MirroredStrategy(backend, {.devices = {first, first}}); }),
            ErrorCode::kDuplicateDevice);
  EXPECT_EQ(code_of([&] { MirroredStrategy(backend, {.devices = {first, unknown}}); }),
            ErrorCode::kUnknownDevice);
  EXPECT_EQ(code_of([&] { OneDeviceStrategy(backend, unknown); }), ErrorCode::kUnknownDevice);
  EXPECT_EQ(code_of([] { HostBackend none(-1); }), ErrorCode::kNoDevices);
}

// A number from a file may be no order, and the order of the sums would then be unknown.
TEST(Strategies, RefuseUnknownOrders) {
  HostBackend backend(2);
  const StrategyOptions none{.order = static_cast<ReductionOrder>(99)};
  EXPECT_EQ(code_of([&] { MirroredStrategy strategy(backend, none); }),
            ErrorCode::kInvalidArgument);
  MirroredStrategy strategy(backend, {.order = ReductionOrder::kTree});
  EXPECT_EQ(code_of([&] { strategy.configure(none); }), ErrorCode::kInvalidArgument);
}

TEST(Strategies, KnowTheOptionsThatWereNamedLast) {
  testing::asserts("SEM-126");
  HostBackend backend(2);
  int lines = 0;
  const StrategyOptions named{.devices = {backend.device_spec(1)},
                              .order = ReductionOrder::kTree,
                              .log = [&](const std::string&) { ++lines; },
                              .require_names = true};
  MirroredStrategy strategy(backend, named);
  StrategyOptions without_log = named;
  without_log.log = nullptr;
  EXPECT_EQ(to_string(strategy.options()), to_string(without_log));
  const StrategyOptions again = strategy.options();
  strategy.configure({.report_overflow = true});
  EXPECT_EQ(to_string(strategy.options()), to_string(StrategyOptions{.report_overflow = true}));
  strategy.configure(again);
  EXPECT_EQ(to_string(strategy.options()), to_string(without_log));
  // Of refused options nothing is kept.
  const StrategyOptions none{.order = static_cast<ReductionOrder>(99)};
  EXPECT_EQ(code_of([&] { strategy.configure(none); }), ErrorCode::kInvalidArgument);
  EXPECT_EQ(to_string(strategy.options()), to_string(without_log));
  EXPECT_EQ(lines, 1);
}

int sum_of(Strategy& strategy, const PerReplica<int>& values) {
  return strategy.cross_replica().reduce(ReduceOp::kSum, values).value();
}

TEST(Strategies, AreGivenToMergeFunctionsThatAskForOne) {
  testing::asserts("SEM-3");
  HostBackend backend(3);
  MirroredStrategy strategy(backend);
  const auto sums = strategy.run([&](ReplicaContext& replica) {
    const int by_name = replica.merge_call(sum_of, replica.replica_id());
    const bool is_own = replica.merge_call(
        MergeTag{"owner"}, [&](const Strategy& given) { return &given == &strategy; });
    replica.merge_call([](Strategy& given) { given.cross_replica().broadcast(1); });
    return is_own ? by_name : -1;
  });
  EXPECT_THAT(sums, ElementsAre(3, 3, 3));
}

// A DefaultStrategy that the program made counts as a strategy of the program.
TEST(Strategies, HasStrategyIsFalseForTheDefaultOfTheThread) {
  Strategy& fallback = current_strategy();
  const auto has = [](Strategy& strategy) {
    return strategy.run([](ReplicaContext& replica) {
      return has_strategy() &&
             replica.merge_call([](CrossReplicaContext&) { return has_strategy(); });
    })[0];
  };
  EXPECT_FALSE(has_strategy());
  EXPECT_FALSE(has(fallback));
  DefaultStrategy own;
  EXPECT_TRUE(has(own));
  HostBackend backend(2);
  MirroredStrategy mirrored(backend);
  EXPECT_TRUE(has(mirrored));
  const Scope scope = fallback.scope();
  EXPECT_FALSE(has_strategy());
}

}  // namespace
}  // namespace belfry::strategy_test
