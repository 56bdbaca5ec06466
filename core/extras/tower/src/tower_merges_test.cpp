// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Merge functions that take the strategy, and the functions of belfry/tower.h inside them: each
// takes the strategy and each context alike.
#include "belfry/backend/host_backend.h"
#include "belfry/strategies.h"
#include "belfry/tower.h"
#include "run/testing/error_of_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace belfry::tower_merges_test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

int sum_of(tower::DistributionStrategy& distribution, const tower::PerDevice<int>& values) {
  int sum = 0;
  for (int value : tower::unwrap(distribution, values)) sum += value;
  return sum;
}
int twice_the_sum_of(tower::DistributionStrategy& distribution,
                     const tower::PerDevice<int>& values) {
  return 2 * sum_of(distribution, values);
}

class TowerMerges : public ::testing::Test {
 protected:
  std::vector<DeviceSpec> specs(const std::vector<int>& indices) const {
    std::vector<DeviceSpec> specs;
    for (int index : indices) specs.push_back(backend_.device_spec(index));
    return specs;
  }

  HostBackend backend_{3};
  tower::MirroredStrategy distribution_{backend_};
};

// 3 + 0, 3 + 1, 3 + 2: the sum is 12.
TEST_F(TowerMerges, TakeTheStrategyAsTheExampleHasIt) {
  const auto fn = [](int three) {
    tower::TowerContext& tower_ctx = *tower::get_tower_context();
    const int v = three + tower::tower_id(tower_ctx);
    return tower::merge_call(tower_ctx, sum_of, v) + v;
  };
  const auto merged_results = tower::call_for_each_tower(distribution_, fn, 3);
  EXPECT_THAT(tower::unwrap(distribution_, merged_results), ElementsAre(15, 16, 17));
}

// Outside everything the default strategy merges at once.
TEST_F(TowerMerges, OutsideEverythingGiveTheDefaultStrategy) {
  const auto merge_fn = [](tower::DistributionStrategy& distribution,
                           const tower::PerDevice<std::string>& x) {
    return &distribution == &tower::get_strategy() ? "foo_" + x[0] : "another strategy";
  };
  EXPECT_EQ(tower::merge_call(*tower::get_tower_context(), merge_fn, std::string("bar")),
            "foo_bar");
}

// Each replica in turn passes the other function.
TEST_F(TowerMerges, OfOtherFunctionsDoNotMeet) {
  for (int odd = 0; odd < 3; ++odd) {
    const auto fn = [odd](tower::TowerContext& ctx) {
      const bool is_odd = tower::tower_id(ctx) == odd;
      return tower::merge_call(ctx, is_odd ? twice_the_sum_of : sum_of, 1);
    };
    EXPECT_THAT(error_of([&] { tower::run(distribution_, fn); }), HasSubstr("BF-01")) << odd;
  }
}

// The properties and verbs inside, through the strategy and through the context.
template <class First>
void expect_properties(First& of, const HostBackend& backend) {
  EXPECT_EQ(tower::worker_devices(of), backend.devices());
  EXPECT_EQ(tower::parameter_devices(of), backend.devices());
  EXPECT_EQ(tower::non_slot_devices(of), backend.devices());
  EXPECT_EQ(tower::num_towers(of), 3);
  EXPECT_EQ(tower::num_replicas_in_sync(of), 3);
  EXPECT_FALSE(tower::is_single_tower(of));
  EXPECT_FALSE(tower::between_graph(of));
  EXPECT_THAT(tower::worker_device_index(of), ElementsAre(0, 1, 2));
}

template <class First>
int work_of_a_merge(First& of, const tower::PerDevice<int>& ids, const MirroredVariable<int>& total,
                    const HostBackend& backend) {
  expect_properties(of, backend);
  EXPECT_TRUE(tower::variable_created_in_scope(of, total));
  const Scope inside = tower::scope(of);
  tower::update(of, total, [](int& own, int by) { own += by; }, tower::reduce(of, "sum", ids));
  return tower::read_var(of, total) + tower::fetch(of, tower::broadcast(of, 100));
}

TEST_F(TowerMerges, HaveThePropertiesAndVerbsInside) {
  const auto total = distribution_.mirrored_variable(10);
  const auto results = tower::run(distribution_, [&](tower::TowerContext& ctx) {
    expect_properties(ctx, backend_);
    const int by_strategy = tower::merge_call(
        ctx,
        [&](tower::DistributionStrategy& of, const tower::PerDevice<int>& ids) {
          return work_of_a_merge(of, ids, total, backend_);
        },
        tower::tower_id(ctx));
    const int by_context = tower::merge_call(
        ctx,
        [&](tower::CrossTowerContext& of, const tower::PerDevice<int>& ids) {
          return work_of_a_merge(of, ids, total, backend_);
        },
        tower::tower_id(ctx));
    return 1000 * by_strategy + by_context;
  });
  EXPECT_THAT(results, Each(113116));
}

// A function that takes anything gets the context.
TEST_F(TowerMerges, OfAnythingTakeTheContext) {
  const auto sums = tower::run(distribution_, [](tower::TowerContext& ctx) {
    return tower::merge_call(
        ctx, [](auto& of, const auto& ids) { return of.reduce(ReduceOp::kSum, ids); },
        tower::tower_id(ctx));
  });
  EXPECT_THAT(sums, Each(3));
}

TEST_F(TowerMerges, KeepVariablesOfEachScopeApart) {
  const auto made = tower::run(distribution_, [&](tower::TowerContext& ctx) {
    const auto make = [&] { return distribution_.variable(1); };
    const auto local = tower::tower_local_variable_scope(ctx, "sum", make);
    const auto places = specs({1, 2});
    const auto beside = [&] {
      const VariableScope scope = tower::colocate_vars_with(ctx, places);
      return make();
    }();
    const auto same = tower::colocate_variables_with(ctx, beside, make);
    EXPECT_EQ(&tower::strategy(ctx), &tower::distribution_strategy(ctx));
    return tower::merge_call(ctx, [&](tower::CrossTowerContext& cross) {
      EXPECT_EQ(&tower::strategy(cross), &tower::distribution_strategy(cross));
      EXPECT_EQ(local.aggregation(), Aggregation::kSum);
      EXPECT_EQ(beside.devices(), places);
      EXPECT_EQ(tower::tower_local_variable_scope(cross, "mean",
                                                  [&] { return distribution_.variable(1.0); })
                    .aggregation(),
                Aggregation::kMean);
      return same.devices() == places;
    });
  });
  EXPECT_THAT(made, Each(true));
}

// Through the context of tower 0, which waits in a merge, the other towers open no scope.
TEST_F(TowerMerges, OpenScopesThroughTheCurrentTowerAlone) {
  using Contexts = tower::PerDevice<tower::TowerContext*>;
  const auto first = [](tower::DistributionStrategy&, const Contexts& all) { return all[0]; };
  const auto errors = tower::run(distribution_, [&](tower::TowerContext& ctx) {
    tower::TowerContext& of_tower_0 = *tower::merge_call(ctx, first, &ctx);
    const auto devices = specs({0});
    const auto block = [] { return 0; };
    const std::vector<std::string> texts{
        error_of([&] { const auto scope = tower::colocate_vars_with(of_tower_0, devices); }),
        error_of([&] { tower::colocate_variables_with(of_tower_0, devices, block); }),
        error_of([&] { const auto scope = tower::tower_local_var_scope(of_tower_0, "sum"); }),
        error_of([&] { tower::tower_local_variable_scope(of_tower_0, "sum", block); })};
    tower::merge_call(ctx, [](tower::DistributionStrategy&) {});
    return texts;
  });
  EXPECT_THAT(errors[0], Each("nothing was thrown"));
  for (int tower : {1, 2}) {
    EXPECT_THAT(errors[tower],
                Each(AllOf(HasSubstr("BF-001"), HasSubstr("tower_merges_test.cpp"))));
  }
}

}  // namespace
}  // namespace belfry::tower_merges_test
