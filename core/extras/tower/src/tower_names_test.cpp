// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The arguments that the functions of belfry/tower.h hand on to the functions beside their names;
// tower_test.cpp uses each function once.
#include "belfry/backend/host_backend.h"
#include "belfry/planned_all_reduce.h"
#include "belfry/strategies.h"
#include "belfry/tower.h"
#include "run/testing/error_of_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace belfry::tower_names_test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TowerNames : public ::testing::Test {
 protected:
  HostBackend backend_{3};
  tower::MirroredStrategy distribution_{backend_};
  const tower::PerDevice<int> ids_{0, 1, 2};
};

TEST_F(TowerNames, OfReductionsAreTextsOfAnyType) {
  const std::string sum = "sum";
  EXPECT_EQ(tower::reduce(distribution_, sum, ids_).value(), 3);
  EXPECT_EQ(tower::reduce(distribution_, std::string_view(sum), ids_).value(), 3);
  EXPECT_EQ(tower::reduce(distribution_, sum.c_str(), ids_).value(), 3);
  EXPECT_EQ(std::get<0>(tower::batch_reduce(distribution_, sum, ids_)).value(), 3);
  const auto sums = tower::run(distribution_, [&](tower::TowerContext& ctx) {
    return tower::all_reduce(ctx, sum, tower::tower_id(ctx));
  });
  EXPECT_THAT(sums, Each(3));
  const VariableScope local = tower::tower_local_var_scope(distribution_, sum);
  EXPECT_EQ(distribution_.variable(1).aggregation(), Aggregation::kSum);
  EXPECT_THAT(
      error_of([&] { tower::reduce(distribution_, std::string("median"), ids_); }),
      AllOf(HasSubstr("BF-030"), HasSubstr("\"median\""), HasSubstr("tower_names_test.cpp")));
}

TEST_F(TowerNames, OfDevicesTellReplicasFromVariables) {
  CentralStorageStrategy central(backend_,
                                 {.devices = {backend_.device_spec(0), backend_.device_spec(1)},
                                  .order = {},
                                  .storage = backend_.device_spec(2)});
  EXPECT_THAT(tower::worker_devices(central),
              ElementsAre(backend_.device_spec(0), backend_.device_spec(1)));
  EXPECT_THAT(tower::parameter_devices(central), ElementsAre(backend_.device_spec(2)));
  const auto variable = central.mirrored_variable(1);
  EXPECT_THAT(tower::non_slot_devices(central, variable), ElementsAre(backend_.device_spec(2)));
}

TEST_F(TowerNames, AVariableIsOfTheStrategyThatMadeIt) {
  tower::MirroredStrategy other(backend_);
  const auto variable = distribution_.mirrored_variable(1);
  EXPECT_TRUE(tower::variable_created_in_scope(distribution_, variable));
  EXPECT_FALSE(tower::variable_created_in_scope(other, variable));
}

// 2^24 + 1 is a tie that goes to 2^24: a tree of four adds 1 and 1 before.
TEST(TowerConfiguration, KeepsTheOrderThatWasNamed) {
  HostBackend backend(4);
  tower::MirroredStrategy strategy(backend, {.order = ReductionOrder::kTree});
  const tower::PerDevice<float> values{16777216.0F, 1.0F, 1.0F, 1.0F};
  const auto sum = [&] { return tower::reduce(strategy, "sum", values).value(); };
  EXPECT_EQ(sum(), 16777218.0F);
  tower::configure(strategy);
  EXPECT_EQ(sum(), 16777218.0F);
  tower::configure(strategy, {.require_names = true});
  EXPECT_EQ(sum(), 16777218.0F);
  tower::configure(strategy, {.order = ReductionOrder::kReplicaOrder});
  EXPECT_EQ(sum(), 16777216.0F);
  strategy.configure({.order = ReductionOrder::kTree});
  tower::configure(strategy);
  EXPECT_EQ(sum(), 16777218.0F);
}

// Each option in turn is named by the strategy, and left out by the configuration.
TEST(TowerConfiguration, KeepsEachOptionThatWasNamed) {
  HostBackend backend(2);
  const auto kept = [&](const StrategyOptions& named) {
    tower::MirroredStrategy strategy(backend, named);
    tower::configure(strategy);
    return to_string(strategy.options());
  };
  std::vector<StrategyOptions> each(5);
  each[0].order = ReductionOrder::kRing;
  each[1].cross_device_ops = std::make_shared<RingAllReduce>();
  each[2].links = {{1}, {0}};
  each[3].require_names = true;
  each[4].report_overflow = true;
  for (const StrategyOptions& named : each) EXPECT_EQ(kept(named), to_string(named));
}

// A log is for the call that names the log: its function may be gone later.
TEST(TowerConfiguration, TellsTheLogOfItsOwnOptions) {
  HostBackend backend(2);
  int lines = 0;
  const auto log = [&](const std::string&) { ++lines; };
  tower::MirroredStrategy strategy(backend, {.log = log});
  EXPECT_EQ(lines, 1);
  tower::configure(strategy);
  EXPECT_EQ(lines, 1);
  tower::configure(strategy, {.log = log});
  EXPECT_EQ(lines, 2);
}

TEST_F(TowerNames, TheUpdateDeviceIsThatOfAFunctionCalledForEach) {
  const auto text = [&](int index) { return to_string(backend_.device_spec(index)); };
  const auto name = [] { return tower::current_update_device().value_or("none"); };
  EXPECT_EQ(name(), "none");
  {
    const Scope scope = tower::scope(distribution_);
    EXPECT_EQ(name(), "none");
  }
  const auto merge_fn = [&](tower::CrossTowerContext&) { return name(); };
  const auto merged = tower::run(distribution_, [&](tower::TowerContext& ctx) {
    EXPECT_EQ(name(), "none");
    return tower::merge_call(ctx, merge_fn);
  });
  EXPECT_THAT(merged, Each("none"));
  const auto mapped =
      tower::map(distribution_, std::vector<int>{0, 1, 2, 3}, [&](int) { return name(); });
  EXPECT_THAT(mapped[0], ElementsAre(text(0), text(0)));
  EXPECT_THAT(mapped[2], ElementsAre(text(2)));
  EXPECT_THAT(distribution_.distribute_values([&](int) { return name(); }),
              ElementsAre(text(0), text(1), text(2)));
  const auto made = distribution_.mirrored_variable([&] { return name(); });
  EXPECT_THAT(distribution_.local_values(made), Each(text(0)));
}

TEST_F(TowerNames, ArgumentsAreAsManyAsThereAre) {
  const auto count = [](const auto&... args) { return static_cast<int>(sizeof...(args)); };
  const auto merge_fn = [&](tower::CrossTowerContext&, const auto&... args) {
    return count(args...);
  };
  const auto ten = tower::run(
      distribution_, [&](tower::TowerContext&, const auto&... args) { return count(args...); }, 1,
      2, 3, 4, 5, 6, 7, 8, 9, 10);
  EXPECT_THAT(ten, Each(10));
  const auto nine = tower::run(distribution_, [&](tower::TowerContext& ctx) {
    return tower::merge_call(ctx, merge_fn, 1, 2, 3, 4, 5, 6, 7, 8, 9);
  });
  EXPECT_THAT(nine, Each(9));
  const auto variable = distribution_.mirrored_variable(0);
  const auto set = [&](int& own, const auto&... args) { own = count(args...); };
  tower::update(distribution_, variable, set, 1, 2, 3, 4, 5, 6, 7, 8, 9);
  EXPECT_EQ(tower::read_var(distribution_, variable), 9);
  const auto at = CallSite::here();
  distribution_.cross_replica().update_at(at, variable, set, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
  EXPECT_EQ(tower::read_var(distribution_, variable), 10);
}

TEST_F(TowerNames, AVectorOfMirroredValuesIsUnwrappedAndOneOfVariablesIsNot) {
  const auto target = distribution_.mirrored_variable(1);
  const auto other = distribution_.mirrored_variable(10);
  const auto by_values = [](int& own, const std::vector<int>& by) { own += by[0]; };
  tower::update(distribution_, target, by_values, std::vector{tower::broadcast(distribution_, 5)});
  EXPECT_EQ(tower::read_var(distribution_, target), 6);
  const auto by_handles = [&](int& own, const std::vector<MirroredVariable<int>>& handles) {
    EXPECT_EQ(handles[0], other);
    own += 1;
  };
  tower::update(distribution_, target, by_handles, std::vector{other});
  EXPECT_EQ(tower::read_var(distribution_, target), 7);
}

}  // namespace
}  // namespace belfry::tower_names_test
