// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The older names on devices, with tensors. core/extras/tower/src/tower_test.cpp tests all names on
// the host. A test passes only if kernels and collectives ran.
#include "belfry/reduction.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "belfry/tower.h"
#include "suites/property.h"
#include "suites/strategy_fixture.h"

#include <gmock/gmock.h>

#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belfry::testing::tower_props {
namespace {

using ::testing::ElementsAre;

using Row = Tensor<float>;
using Ints = std::vector<int>;
using Reals = std::vector<float>;

Row row(float value) { return Row::full({2}, value); }
float id_of(const tower::TowerContext& tower) { return static_cast<float>(tower::tower_id(tower)); }

template <class T>
Reals host(const T& tensor) {
  return tensor.to_host();
}

class Towers : public Property {
 protected:
  void TearDown() override {
    add_work(backend_factory().work(*fixture_.backend));
    Property::TearDown();
  }
  std::string text(int device) { return to_string(fixture_.backend->device_spec(device)); }

  StrategyFixture fixture_{4};
  tower::MirroredStrategy& distribution_ = fixture_.strategy;
};

TEST_F(Towers, MergeReduceAndUpdate) {
  const auto v = distribution_.mirrored_variable([] { return row(1); });
  const auto merge_fn = [&](tower::CrossTowerContext& distribution,
                            const tower::PerDevice<Row>& rows) {
    const auto mean = tower::reduce(distribution, "mean", rows, v);
    tower::update(distribution, v, [](Row& own, const Row& by) { own = add(own, by); }, mean);
    return tower::broadcast(distribution, row(7));
  };
  const auto sevens =
      tower::call_for_each_tower(distribution_, [&](tower::TowerContext& tower_ctx) {
        return tower::merge_call(tower_ctx, merge_fn, row(id_of(tower_ctx)));
      });
  // 1 and the mean of 0, 1, 2 and 3.
  EXPECT_THAT(host(tower::read_var(distribution_, v)), ElementsAre(2.5F, 2.5F));
  for (const Row& seven : tower::unwrap(distribution_, sevens)) {
    EXPECT_THAT(host(seven), ElementsAre(7, 7));
  }
  tower::run(distribution_, [](tower::ReplicaContext& replica) {
    EXPECT_THAT(host(tower::all_reduce(replica, "SUM", row(id_of(replica)))), ElementsAre(6, 6));
  });
}

TEST_F(Towers, EachHasTheDeviceOfItsIndex) {
  testing::asserts("SEM-1");
  const auto index = tower::worker_device_index(distribution_);
  EXPECT_THAT(tower::unwrap(distribution_, index), ElementsAre(0, 1, 2, 3));
  const auto fn = [&](tower::TowerContext& ctx, int device_id) {
    const Row own = add(row(1), static_cast<float>(device_id));
    const Row sum = tower::all_reduce(ctx, "sum", own);
    EXPECT_THAT(host(sum), ElementsAre(10, 10));
    EXPECT_EQ(tower::device(ctx), text(device_id));
    return fixture_.backend->device_spec(sum.placement().device) ==
           tower::worker_devices(distribution_)[static_cast<std::size_t>(device_id)];
  };
  EXPECT_EQ(list_of(tower::call_for_each_tower(distribution_, fn, index)),
            std::vector<bool>(4, true));
}

// -3, -7, -11 and -15: the sum is -36 and the mean -9; the mean of the first two is -5. With -3,
// -6, -9 and -12 the sum is -30, and the mean is no whole number.
TEST_F(Towers, MeansOfIntegers) {
  const auto seen = tower::run(distribution_, [](tower::ReplicaContext& replica) {
    const auto own = [&](int by) {
      return Tensor<int>::full({2}, -3 - by * tower::tower_id(replica));
    };
    EXPECT_THAT(replica.all_reduce(TruncatedMean{}, own(4)).to_host(), ElementsAre(-9, -9));
    EXPECT_THAT(replica.all_reduce(TruncatedMean{}, own(3)).to_host(), ElementsAre(-7, -7));
    EXPECT_THAT(replica.all_reduce(PromotedMean{}, own(3)).to_host(), ElementsAre(-7.5, -7.5));
    EXPECT_EQ(replica.all_reduce(TruncatedMean{}, -3 - 3 * tower::tower_id(replica)), -7);
    EXPECT_EQ(replica.all_reduce(PromotedMean{}, -3 - 3 * tower::tower_id(replica)), -7.5);
    return tower::all_reduce(replica, "sum", own(3)).to_host();
  });
  EXPECT_THAT(seen[3], ElementsAre(-30, -30));
}

TEST_F(Towers, AsManyDevicesAsAreAskedFor) {
  for (int num_gpus : {1, 2, 3}) {
    std::vector<DeviceSpec> devices = fixture_.backend->devices();
    devices.resize(static_cast<std::size_t>(num_gpus));
    tower::MirroredStrategy strategy(*fixture_.backend, {.devices = devices});
    EXPECT_EQ(tower::num_towers(strategy), num_gpus);
    EXPECT_EQ(tower::is_single_tower(strategy), num_gpus == 1);
    EXPECT_EQ(tower::worker_devices(strategy), devices);
    const auto sums = tower::run(strategy, [](tower::ReplicaContext& replica) {
      return tower::all_reduce(replica, "sum", row(1)).to_host();
    });
    EXPECT_EQ(sums[0], Reals(2, static_cast<float>(num_gpus)));
  }
}

// 1e8, 1, -1e8 and 1 in float: a 1 that is added to 1e8 alone is lost.
TEST_F(Towers, CrossTowerOpsAreOrders) {
  const auto sum_by = [&](ReductionOrder order) {
    tower::configure(distribution_, {.order = order});
    const PerReplica<float> values{1e8F, 1, -1e8F, 1};
    const auto rows =
        distribution_.distribute_values([&](int id) { return Row::full({4}, values[id]); });
    return host(tower::reduce(distribution_, "sum", rows).value());
  };
  EXPECT_THAT(sum_by(ReductionOrder::kReplicaOrder), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(sum_by(ReductionOrder::kTree), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(sum_by(ReductionOrder::kRing), ElementsAre(1, 0, 1, 0));
  // The communicator's own order, by its name: empty options keep the order.
  tower::configure(distribution_, {.order = ReductionOrder::kUnspecified});
  distribution_.run(meet_with_a_tensor);
}

TEST_F(Towers, ForEachTowerHandsOutComponents) {
  const auto own =
      distribution_.distribute_values([](int id) { return row(static_cast<float>(id)); });
  const tower::MirroredValue<Row> same = tower::broadcast(distribution_, [&] {
    const Scope inside = tower::scope(distribution_);
    return row(10);
  }());
  const auto fn = [](tower::TowerContext& ctx, const Row& mine, const Row& all, int plain) {
    EXPECT_EQ(mine.placement(), ctx.placement());
    EXPECT_EQ(all.placement(), ctx.placement());
    const Row sum = add(add(mine, all), static_cast<float>(plain));
    EXPECT_THAT(host(tower::all_reduce(ctx, "mean", sum)), ElementsAre(111.5F, 111.5F));
    return sum.to_host()[0];
  };
  EXPECT_EQ(list_of(tower::for_each_tower(distribution_, fn, own, same, 100)),
            Reals({110, 111, 112, 113}));
}

TEST_F(Towers, BroadcastToAListAndFetchOfAList) {
  const Scope inside = tower::scope(distribution_);
  const auto expect_there = [&](const auto& value, const Ints& devices) {
    ASSERT_EQ(value.devices().size(), devices.size());
    for (int i = 0; i < value.size(); ++i) {
      EXPECT_EQ(value[i].placement().device, devices[static_cast<std::size_t>(i)]);
      EXPECT_THAT(host(value[i]), ElementsAre(5, 5));
    }
  };
  const auto spec = [&](int device) { return fixture_.backend->device_spec(device); };
  expect_there(tower::broadcast(distribution_, row(5), std::vector{spec(3), spec(1)}), {3, 1});
  expect_there(tower::broadcast(distribution_, row(5), std::vector{text(2), text(0)}), {2, 0});
  const auto rows = tower::broadcast(distribution_, std::vector<Row>{row(1), row(2)});
  const std::vector<Row> first = tower::fetch(distribution_, rows);
  const std::vector<Row> third = tower::fetch(distribution_, rows, text(2));
  for (std::size_t i : {0U, 1U}) {
    EXPECT_EQ(first[i].placement(), fixture_.placement(0));
    EXPECT_EQ(third[i].placement(), fixture_.placement(2));
    EXPECT_EQ(host(third[i]), Reals(2, static_cast<float>(i + 1)));
  }
  const auto sum_of = [](const std::vector<Row>& list) { return add(list[0], list[1]); };
  const Row sum = tower::fetch(distribution_, rows, text(1), sum_of);
  EXPECT_EQ(sum.placement(), fixture_.placement(1));
  EXPECT_THAT(host(sum), ElementsAre(3, 3));
  const auto ones = distribution_.distribute_values([](int) { return row(1); });
  EXPECT_THAT(host(tower::fetch(distribution_, tower::reduce(distribution_, "sum", ones))),
              ElementsAre(4, 4));
}

TEST_F(Towers, VariablesOfATower) {
  const auto local = tower::tower_local_variable_scope(distribution_, "mean", [&] {
    return distribution_.variable([] { return row(1); }).as_replica_local();
  });
  tower::run(distribution_,
             [&](tower::TowerContext& ctx) { local.on(ctx) = add(local.on(ctx), 2 * id_of(ctx)); });
  // 1, 3, 5 and 7.
  EXPECT_THAT(host(tower::read_var(distribution_, local)), ElementsAre(4, 4));
  const auto beside = tower::colocate_variables_with(
      distribution_, std::vector{fixture_.backend->device_spec(2)},
      [&] { return distribution_.mirrored_variable([] { return row(3); }); });
  EXPECT_EQ(tower::read_var(distribution_, beside).placement(), fixture_.placement(2));
  EXPECT_TRUE(tower::variable_created_in_scope(distribution_, beside));
  const auto seen = tower::update_non_slot(
      distribution_, tower::non_slot_devices(distribution_, beside), [] { return add(row(1), 4); });
  for (int i = 0; i < 4; ++i) EXPECT_EQ(seen[i].placement(), fixture_.placement(i));
  auto done = tower::group(distribution_, seen);
  done.wait();
  EXPECT_TRUE(done.done());
}

TEST_F(Towers, MapAndBatches) {
  const Scope inside = tower::scope(distribution_);
  const auto mapped = tower::map(distribution_, Ints{1, 2, 3, 4, 5},
                                 [](int x) { return add(row(1), static_cast<float>(x)); });
  ASSERT_EQ(mapped[0].size(), 2U);
  EXPECT_EQ(mapped[0][1].placement(), fixture_.placement(0));
  EXPECT_EQ(mapped[3][0].placement(), fixture_.placement(3));
  EXPECT_THAT(host(mapped[3][0]), ElementsAre(5, 5));
  const auto rows =
      distribution_.distribute_values([](int id) { return row(static_cast<float>(id)); });
  const auto [sum, again] =
      tower::batch_reduce(distribution_, "sum", std::pair{rows, text(3)}, rows);
  EXPECT_EQ(sum.value().placement(), fixture_.placement(3));
  EXPECT_THAT(host(sum.value()), ElementsAre(6, 6));
  EXPECT_THAT(host(again[1]), ElementsAre(6, 6));
}

// The newer spellings of the same verbs.
TEST_F(Towers, RunAndReduceByOtherNames) {
  const auto fn = [&](tower::ReplicaContext& replica, float by) {
    EXPECT_EQ(tower::get_replica_context(), &replica);
    EXPECT_EQ(tower::get_cross_tower_context(), nullptr);
    EXPECT_THAT(tower::devices(replica), ElementsAre(tower::device(replica)));
    return add(row(id_of(replica)), by);
  };
  for (const auto& rows : {tower::call_for_each_replica(distribution_, fn, 2.0F),
                           tower::experimental_run_v2(distribution_, fn, 2.0F)}) {
    Ints places;
    Reals values;
    for (const Row& own : tower::local_results(distribution_, rows)) {
      places.push_back(own.placement().device);
      values.push_back(own.to_host()[0]);
    }
    EXPECT_THAT(places, ElementsAre(0, 1, 2, 3));
    EXPECT_THAT(values, ElementsAre(2, 3, 4, 5));
    EXPECT_EQ(tower::experimental_local_results(distribution_, rows).size(), 4U);
    const auto sum = tower::reduce_to(distribution_, "sum", rows, text(2));
    EXPECT_EQ(sum.value().placement(), fixture_.placement(2));
    EXPECT_THAT(host(sum.value()), ElementsAre(14, 14));
    const auto [first, second] =
        tower::batch_reduce_to(distribution_, "mean", std::pair{rows, text(3)},
                               std::pair{rows, std::vector{text(1), text(0)}});
    EXPECT_EQ(first.value().placement(), fixture_.placement(3));
    EXPECT_EQ(second[0].placement(), fixture_.placement(1));
    EXPECT_EQ(second[1].placement(), fixture_.placement(0));
    for (const Row& mean : {first.value(), second[0], second[1]}) {
      EXPECT_THAT(host(mean), ElementsAre(3.5F, 3.5F));
    }
  }
  EXPECT_EQ(tower::parameter_devices(distribution_), fixture_.backend->devices());
  distribution_.run(meet_with_a_tensor);
}

TEST_F(Towers, ScopesAndWhatIsCurrentByOtherNames) {
  const auto local = [&] {
    const VariableScope scope = tower::tower_local_var_scope(distribution_, "mean");
    return distribution_.variable([] { return row(1); }).as_replica_local();
  }();
  const auto beside = [&] {
    const auto scope =
        tower::colocate_vars_with(distribution_, std::vector{fixture_.backend->device_spec(2)});
    return distribution_.mirrored_variable([] { return row(1); });
  }();
  const Scope inside = tower::scope(distribution_);
  EXPECT_EQ(&tower::current_strategy(), &distribution_);
  EXPECT_EQ(tower::get_cross_tower_context(), &fixture_.cross);
  tower::run(distribution_, [&](tower::TowerContext& ctx) {
    EXPECT_EQ(tower::get_tower_context(), &ctx);
    EXPECT_EQ(tower::current_update_device(), std::nullopt);
    local.on(ctx) = add(local.on(ctx), id_of(ctx));
    meet_with_a_tensor(ctx);
  });
  // 1, 2, 3 and 4, each on the device of its tower.
  EXPECT_THAT(host(tower::read_var(distribution_, local)), ElementsAre(2.5F, 2.5F));
  const std::vector<Row> components = tower::unwrap(distribution_, local);
  EXPECT_THAT(host(components[3]), ElementsAre(4, 4));
  EXPECT_EQ(components[3].placement(), fixture_.placement(3));
  tower::update(distribution_, beside, [&](Row& own) {
    EXPECT_EQ(tower::current_update_device(), text(2));
    own = add(own, 6);
  });
  EXPECT_THAT(host(tower::read_var(distribution_, beside)), ElementsAre(7, 7));
}

TEST_F(Towers, InputByOtherNames) {
  const auto numbers =
      tower::experimental_make_numpy_dataset(distribution_, Ints{0, 1, 2, 3, 4, 5, 6, 7});
  const auto input_fn = [&](const InputContext& context) {
    const auto rows = numbers.map([](int i) { return row(static_cast<float>(i)); });
    return rows.batch(context.get_per_replica_batch_size(8));
  };
  Reals sums;
  const DistributeOptions options{.end_of_data = EndOfData::kPadWithEmpties};
  for (const auto& batch : tower::make_input_fn_iterator(distribution_, input_fn, options)) {
    const auto sum = tower::run(
        distribution_,
        [](tower::ReplicaContext& replica, const Row& mine) {
          return tower::all_reduce(replica, "sum", column_sum(mine)).to_host();
        },
        batch);
    sums.push_back(sum[0][0]);
  }
  EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), 0.0F), 28);
}

// A single tower, with the scope of its strategy and its data set.
TEST_F(Towers, OneDevice) {
  tower::OneDeviceStrategy one(*fixture_.backend, fixture_.backend->device_spec(2));
  {
    const Scope inside = tower::scope(one);
    EXPECT_EQ(&tower::get_strategy(), &one);
    EXPECT_EQ(tower::current_device(), text(2));
    EXPECT_EQ(one.variable([] { return row(1); }).devices(),
              std::vector{fixture_.backend->device_spec(2)});
    EXPECT_EQ(code_of([&] { const Scope other = tower::scope(distribution_); }),
              ErrorCode::kOtherStrategy);
  }
  const auto rows = Dataset<int>::range(6).map([](int i) { return row(static_cast<float>(i)); });
  const DistributeOptions options{.end_of_data = EndOfData::kPadWithEmpties, .prefetch = 1};
  const auto batches = rows.batch(4);
  for (const auto& dataset : {tower::distribute_dataset(one, batches, options),
                              tower::experimental_distribute_dataset(one, batches, options)}) {
    std::vector<Reals> sums;
    for (const auto& batch : dataset) {
      const auto sum = tower::run(
          one,
          [](tower::ReplicaContext& replica, const Row& mine) {
            EXPECT_EQ(mine.placement(), replica.placement());
            return tower::all_reduce(replica, "sum", column_sum(mine)).to_host();
          },
          batch);
      sums.push_back(sum[0]);
    }
    // 0 + 1 + 2 + 3, and 4 + 5.
    EXPECT_THAT(sums, ElementsAre(Reals{6, 6}, Reals{9, 9}));
  }
  distribution_.run(meet_with_a_tensor);
}

}  // namespace
}  // namespace belfry::testing::tower_props
