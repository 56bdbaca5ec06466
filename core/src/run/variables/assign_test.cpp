// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Values that can be assigned, added and subtracted, and the place of the result.
#include "belfry/backend/host_backend.h"
#include "belfry/reduction.h"
#include "belfry/strategies.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/code_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry::assign_test {
namespace {

using testing::code_of;
using ::testing::Each;
using ::testing::ElementsAre;

class Assign : public ::testing::Test {
 protected:
  HostBackend backend_{3};
  MirroredStrategy strategy_{backend_};
  CrossReplicaContext& cross_ = strategy_.cross_replica();
};

TEST_F(Assign, AddsIntegersOfEveryWidth) {
  testing::asserts("SEM-45");
  const auto count =
      strategy_.mirrored_variable(std::uint64_t{0}, {.aggregation = Aggregation::kSum});
  const auto small = strategy_.replica_local_variable(Aggregation::kOnlyFirst,
                                                      std::vector<std::int16_t>{32767, -32768, 5});
  const auto wide = strategy_.replica_local_variable(
      Aggregation::kOnlyFirst, std::pair(std::uint16_t{65535}, std::uint32_t{0}));
  strategy_.run([&](ReplicaContext& replica) {
    replica.assign_add(count, std::uint64_t{1} << 63U);
    replica.assign_sub(count, std::uint64_t{1});
    replica.assign_add(small, std::vector<std::int16_t>{1, 0, 10});
    replica.assign_sub(small, std::vector<std::int16_t>{0, 1, 1});
    replica.assign_add(wide, std::pair(std::uint16_t{2}, std::uint32_t{7}));
    replica.assign_sub(wide, std::pair(std::uint16_t{0}, std::uint32_t{8}));
  });
  // 3 * 2^63 - 3 modulo 2^64.
  EXPECT_EQ(strategy_.read(count), (std::uint64_t{1} << 63U) - 3);
  EXPECT_THAT(strategy_.read(small), ElementsAre(-32768, 32767, 14));
  EXPECT_EQ(strategy_.read(wide), std::pair(std::uint16_t{1}, std::uint32_t{4294967295U}));
}

TEST_F(Assign, SetsValuesOfOtherLengthsAndShapes) {
  testing::asserts("SEM-45");
  const auto list =
      strategy_.mirrored_variable(std::vector<int>{1, 2}, {.aggregation = Aggregation::kOnlyFirst});
  const auto tensor = strategy_.mirrored_variable([] { return Tensor<float>::zeros({2}); });
  strategy_.run([&](ReplicaContext& replica) { replica.assign(list, std::vector<int>{7, 8, 9}); });
  cross_.update(tensor, [](Tensor<float>& t) { t = Tensor<float>::zeros({3, 1}); });
  EXPECT_THAT(strategy_.local_values(list), Each(ElementsAre(7, 8, 9)));
  for (const Tensor<float>& component : strategy_.local_values(tensor)) {
    EXPECT_EQ(component.shape(), (Shape{3, 1}));
  }
}

TEST_F(Assign, AddsIntegersOfEveryWidthForTheirMean) {
  const auto mean = strategy_.run([](ReplicaContext& replica) {
    return replica.all_reduce(TruncatedMean{},
                              static_cast<std::uint16_t>(replica.replica_id() * 5));
  });
  EXPECT_THAT(mean, Each(5)) << "15 / 3";
}

TEST_F(Assign, AddsTensorsOfEveryWidth) {
  using Pair = std::pair<Tensor<std::int16_t>, Tensor<std::uint64_t>>;
  const auto pair = strategy_.replica_local_variable(Aggregation::kOnlyFirst, [] {
    return Pair{Tensor<std::int16_t>::full({2}, 32767), Tensor<std::uint64_t>::full({1}, 3)};
  });
  strategy_.run([&](ReplicaContext& replica) {
    const Pair by{Tensor<std::int16_t>::full({2}, 2), Tensor<std::uint64_t>::full({1}, 4)};
    replica.assign_add(pair, by);
    replica.assign_sub(pair, Pair{Tensor<std::int16_t>::full({2}, 1), by.second + by.second});
  });
  const Pair sums = strategy_.read(pair);
  EXPECT_THAT(sums.first.to_host(), Each(-32768)) << "32767 + 2 - 1";
  EXPECT_THAT(sums.second.to_host(), Each(~std::uint64_t{0})) << "3 + 4 - 8";
}

TEST_F(Assign, RefusesWhatHasNoSumBeforeAnythingChanges) {
  testing::asserts("SEM-45");
  const auto flag = strategy_.replica_local_variable(Aggregation::kOnlyFirst, true);
  const auto refuse = [&](const auto& variable, auto by) {
    EXPECT_EQ(code_of([&] {
                strategy_.run([&](ReplicaContext& replica) { replica.assign_sub(variable, by); });
              }),
              ErrorCode::kDType);
  };
  refuse(flag, true);
  EXPECT_TRUE(strategy_.read(flag));
  refuse(strategy_.mirrored_variable(true, {.aggregation = Aggregation::kOnlyFirst}), true);
  EXPECT_EQ(code_of([&] {
              strategy_.run([](ReplicaContext& replica) {
                return replica.all_reduce(TruncatedMean{}, true);
              });
            }),
            ErrorCode::kDType);

  using Mixed = std::tuple<double, bool, Tensor<bool>>;
  const auto mixed = strategy_.replica_local_variable(
      Aggregation::kOnlyFirst, [] { return Mixed{1.0, false, Tensor<bool>::full({2}, true)}; });
  strategy_.run([&](ReplicaContext& replica) {
    const Mixed by{10.0, false, Tensor<bool>::full({2}, true)};
    EXPECT_EQ(code_of([&] { replica.assign_add(mixed, by); }), ErrorCode::kDType);
  });
  EXPECT_EQ(std::get<0>(strategy_.read(mixed)), 1.0);

  using Pair = std::pair<double, Tensor<bool>>;
  const auto pair = strategy_.replica_local_variable(
      Aggregation::kOnlyFirst, [] { return Pair{1.0, Tensor<bool>::full({2}, true)}; });
  strategy_.run([&](ReplicaContext& replica) {
    const Pair by{10.0, Tensor<bool>::full({2}, true)};
    EXPECT_EQ(code_of([&] { replica.assign_add(pair, by); }), ErrorCode::kDType);
  });
  EXPECT_EQ(strategy_.read(pair).first, 1.0);
}

TEST_F(Assign, ComparesKeysAndNotOnlyLeaves) {
  using Map = std::map<std::string, double>;
  using Choice = std::pair<std::optional<double>, std::optional<double>>;
  const auto refuse = [&](const auto& variable, auto by) {
    const auto before = strategy_.read(variable);
    EXPECT_EQ(code_of([&] {
                strategy_.run([&](ReplicaContext& replica) { replica.assign_add(variable, by); });
              }),
              ErrorCode::kStructure);
    EXPECT_EQ(strategy_.read(variable), before);
  };
  const VariableOptions summed{.aggregation = Aggregation::kSum};
  refuse(strategy_.replica_local_variable(ReduceOp::kSum, Map{{"a", 1}}), Map{{"b", 5}});
  refuse(strategy_.mirrored_variable(Map{{"a", 1}}, summed), Map{{"b", 5}});
  refuse(strategy_.mirrored_variable(Choice{1.0, std::nullopt}, summed), Choice{std::nullopt, 5.0});
}

TEST_F(Assign, NamesTheCallThatAddsWhatCannotBeAdded) {
  using Map = std::map<std::string, double>;
  const auto own = strategy_.replica_local_variable(ReduceOp::kSum, Map{{"a", 1}});
  const auto shared =
      strategy_.mirrored_variable(Map{{"a", 1}}, {.aggregation = Aggregation::kSum});
  const auto flag = strategy_.replica_local_variable(Aggregation::kOnlyFirst, true);
  const auto line_of = [&](const auto& step) {
    try {
      strategy_.run(step);
    } catch (const Error& error) {
      EXPECT_EQ(to_string(error.report().site).substr(0, 16), "assign_test.cpp:");
      return error.report().site.line;
    }
    return 0;
  };
  const int here = __LINE__;
  const auto subtract = [&](ReplicaContext& r) { r.assign_sub(own, Map{{"b", 5}}); };
  const auto add = [&](ReplicaContext& r) { r.assign_add(shared, Map{{"b", 5}}); };
  const auto flip = [&](ReplicaContext& r) { r.assign_add(flag, true); };
  EXPECT_EQ(line_of(subtract), here + 1);
  EXPECT_EQ(line_of(add), here + 2);
  EXPECT_EQ(line_of(flip), here + 3);
}

TEST_F(Assign, KeepsComponentsWhereTheVariableLives) {
  const auto make = [] { return Tensor<float>::full({1}, 1.0F); };
  const auto far = Tensor<float>::full({1}, 5.0F, strategy_.placement(2));
  const auto shared = strategy_.mirrored_variable(make);
  const auto own = strategy_.replica_local_variable(ReduceOp::kSum, make);
  cross_.update(shared, [&](Tensor<float>& component) { component = far; });
  strategy_.run([&](ReplicaContext& replica) {
    replica.assign(own, far);
    EXPECT_EQ(shared.on(replica).placement(), replica.placement());
    EXPECT_EQ(own.on(replica).placement(), replica.placement());
    EXPECT_EQ(add(shared.on(replica), own.on(replica)).item(), 10.0F);
  });
  EXPECT_EQ(strategy_.read(own).item(), 15.0F);
}

TEST_F(Assign, GivesEveryReplicaWhatAnUpdateReturns) {
  const VariableScope scope =
      strategy_.colocate_variables_with({backend_.device_spec(0), backend_.device_spec(2)});
  const auto tensor = strategy_.mirrored_variable([] { return Tensor<float>::full({1}, 4.0F); });
  const auto components = cross_.update(tensor, [](Tensor<float>& component) { return component; });
  ASSERT_EQ(components.size(), 3);
  for (int replica = 0; replica < 3; ++replica) {
    EXPECT_EQ(components[replica].placement(), strategy_.placement(replica));
    EXPECT_EQ(components[replica].item(), 4.0F);
  }
  const auto number = strategy_.mirrored_variable(1);
  const auto seen = cross_.update(number, [](int& component) { return component += 6; });
  const auto used = strategy_.run([](ReplicaContext&, int value) { return value; }, seen);
  EXPECT_THAT(used, ElementsAre(7, 7, 7));
}

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
  refuse(Variable<double>(equal.replica_local_variable(ReduceOp::kSum, 2.0)));
  EXPECT_THAT(strategy_.local_values(own), Each(1.0));
}

TEST_F(Assign, VisitsEachDeviceOfANonSlotUpdateOnce) {
  int calls = 0;
  const auto count = [&] { return ++calls; };
  const DeviceSpec first = backend_.device_spec(0);
  EXPECT_EQ(code_of([&] { cross_.update_non_slot({first, first}, count); }),
            ErrorCode::kDuplicateDevice);
  EXPECT_EQ(code_of([&] { cross_.update_non_slot(std::vector<DeviceSpec>{}, count); }),
            ErrorCode::kNoDevices);
  EXPECT_EQ(calls, 0);
}

TEST_F(Assign, CopiesWhatANonSlotUpdateReturnsByReference) {
  const auto tensor = Tensor<float>::full({4}, 3.0F, strategy_.placement(0));
  const auto same = [](const Tensor<float>& local) -> const Tensor<float>& { return local; };
  const auto everywhere = cross_.update_non_slot(strategy_.devices(), same, tensor);
  for (int i = 0; i < 3; ++i) EXPECT_THAT(everywhere[i].to_host(), Each(3.0F));
}

TEST(AssignCentrally, KeepsReferencesToWhatAReplicaSees) {
  HostBackend backend(3);
  CentralStorageStrategy strategy(backend,
                                  {.devices = {backend.device_spec(0), backend.device_spec(1)},
                                   .order = {},
                                   .storage = backend.device_spec(2)});
  const auto variable = strategy.mirrored_variable([] { return Tensor<float>::full({4}, 3.0F); });
  const auto seen = strategy.run([&](ReplicaContext& replica) {
    const Tensor<float>& own = variable.on(replica);
    replica.merge_call([&](CrossReplicaContext& cross) {
      cross.update(variable, [](Tensor<float>& w) { w = multiply(w, w); });
    });
    EXPECT_EQ(&own, &variable.on(replica));
    return own.to_host()[3];
  });
  EXPECT_THAT(seen, Each(9.0F));
}

}  // namespace
}  // namespace belfry::assign_test
