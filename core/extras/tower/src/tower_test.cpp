// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Uses every name of docs/tf_mapping.md that can be used. tools/checks/check_tables.py compares
// both files. Calls that must not compile are in core/src/compile_fail.
#include "belfry/tower.h"

#include "belfry/backend/host_backend.h"
#include "belfry/cross_device_ops.h"
#include "belfry/dataset.h"
#include "belfry/planned_all_reduce.h"
#include "belfry/scatter.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/code_of.h"
#include "run/testing/error_of_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry::tower_test {
namespace {

using ::testing::AllOf;
using testing::code_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Ints = std::vector<int>;

class Tower : public ::testing::Test {
 protected:
  std::string text(int index) { return to_string(backend_.device_spec(index)); }

  HostBackend backend_{2};
  tower::MirroredStrategy distribution_{backend_};
  const tower::PerDevice<int> ids_{0, 1};
};

// The first example of the reference, with the tower as an argument.
TEST_F(Tower, CallForEachTowerWithMergeCall) {
  const auto merge_fn = [](tower::CrossTowerContext& distribution,
                           const tower::PerDevice<int>& three_plus_tower_id) {
    int sum = 0;
    for (int x : tower::unwrap(distribution, three_plus_tower_id)) sum += x;
    return sum;
  };
  const auto fn = [&](tower::TowerContext& tower_ctx, int three) {
    const int v = three + tower::tower_id(tower_ctx);
    const int s = tower::merge_call(tower_ctx, merge_fn, v);
    return s + v;
  };
  const Scope inside = tower::scope(distribution_);
  const auto merged_results = tower::call_for_each_tower(distribution_, fn, 3);
  EXPECT_THAT(tower::unwrap(distribution_, merged_results), ElementsAre(10, 11));
}

// The same as the later systems write the call: the function asks for the context.
TEST_F(Tower, RunWithTheCurrentReplicaContext) {
  const auto merge_fn = [](CrossReplicaContext& distribution,
                           const PerReplica<int>& three_plus_replica_id) {
    int sum = 0;
    for (int x : tower::experimental_local_results(distribution, three_plus_replica_id)) sum += x;
    return sum;
  };
  const auto fn = [&](int three) {
    tower::ReplicaContext& replica_ctx = *tower::get_replica_context();
    const int v = three + tower::replica_id_in_sync_group(replica_ctx);
    return tower::merge_call(replica_ctx, merge_fn, v) + v;
  };
  const auto results = [&](const auto& merged) {
    return tower::local_results(distribution_, merged);
  };
  EXPECT_THAT(results(tower::run(distribution_, fn, 3)), ElementsAre(10, 11));
  EXPECT_THAT(results(tower::call_for_each_replica(distribution_, fn, 3)), ElementsAre(10, 11));
  EXPECT_THAT(results(tower::experimental_run_v2(distribution_, fn, 3)), ElementsAre(10, 11));
  EXPECT_THAT(results(tower::for_each_tower(distribution_, fn, 3)), ElementsAre(10, 11));
}

struct Keywords {
  int step = 0;
  double rate = 0;
  static auto members(auto& self) { return std::tie(self.step, self.rate); }
};

TEST_F(Tower, KeywordArgumentsAreOneAggregate) {
  const auto merge_fn = [](tower::CrossTowerContext&, const tower::PerDevice<Keywords>& words) {
    return words[0].rate + words[1].rate;
  };
  const auto fn = [&](tower::TowerContext& ctx, const Keywords& words) {
    const double own = words.rate * tower::tower_id(ctx);
    return words.step + tower::merge_call(ctx, merge_fn, Keywords{.step = 0, .rate = own});
  };
  const auto results = tower::run(distribution_, fn, Keywords{.step = 3, .rate = 0.5});
  EXPECT_THAT(tower::unwrap(distribution_, results), ElementsAre(3.5, 3.5));
  const auto variable = distribution_.mirrored_variable(1.0);
  tower::update(
      distribution_, variable,
      [](double& own, const Keywords& words) { own += words.step * words.rate; },
      Keywords{.step = 2, .rate = 4});
  EXPECT_EQ(tower::read_var(distribution_, variable), 9);
}

TEST_F(Tower, RunConcurrentlyIsAnOption) {
  Ints order;
  const RunOptions serially{.concurrent = false};
  tower::call_for_each_tower(distribution_, serially, [&](tower::TowerContext& ctx) {
    order.push_back(tower::tower_id(ctx));
  });
  EXPECT_THAT(order, ElementsAre(0, 1));
}

TEST_F(Tower, PropertiesOfATowerContext) {
  tower::call_for_each_tower(distribution_, [&](tower::TowerContext& ctx) {
    EXPECT_EQ(tower::num_towers(ctx), 2);
    EXPECT_EQ(tower::num_replicas_in_sync(ctx), 2);
    EXPECT_FALSE(tower::is_single_tower(ctx));
    EXPECT_EQ(tower::device(ctx), text(tower::tower_id(ctx)));
    EXPECT_THAT(tower::devices(ctx), ElementsAre(tower::device(ctx)));
    EXPECT_EQ(&tower::distribution_strategy(ctx), &distribution_);
    EXPECT_EQ(&tower::strategy(ctx), &distribution_);
    EXPECT_EQ(tower::get_tower_context(), &ctx);
    EXPECT_EQ(tower::get_cross_tower_context(), nullptr);
    EXPECT_EQ(tower::current_device(), tower::device(ctx));
    EXPECT_EQ(tower::current_update_device(), std::nullopt);
  });
  static_assert(std::is_same_v<tower::InTowerContext, tower::TowerContext>);
}

TEST_F(Tower, PropertiesOfAStrategy) {
  EXPECT_EQ(tower::num_towers(distribution_), 2);
  EXPECT_FALSE(tower::is_single_tower(distribution_));
  EXPECT_EQ(tower::worker_devices(distribution_), backend_.devices());
  EXPECT_EQ(tower::parameter_devices(distribution_), backend_.devices());
  EXPECT_FALSE(tower::between_graph(distribution_));
  // The index is an argument with a different value for each tower.
  const auto fn = [&](tower::TowerContext& ctx, int device_id) {
    const std::vector<DeviceSpec> workers =
        tower::worker_devices(tower::distribution_strategy(ctx));
    return to_string(workers[static_cast<std::size_t>(device_id)]) == tower::device(ctx);
  };
  const auto found =
      tower::call_for_each_tower(distribution_, fn, tower::worker_device_index(distribution_));
  EXPECT_TRUE(found[0]);
  EXPECT_TRUE(found[1]);
  tower::OneDeviceStrategy one(backend_, backend_.device_spec(1));
  EXPECT_TRUE(tower::is_single_tower(one));
  EXPECT_THAT(tower::unwrap(one, tower::worker_device_index(one)), ::testing::ElementsAre(0));
  tower::DefaultStrategy single;
  EXPECT_TRUE(tower::is_single_tower(single));
}

TEST_F(Tower, StrategiesAreCurrentInTheirScopes) {
  tower::DistributionStrategy& plain = tower::get_strategy();
  EXPECT_TRUE(tower::is_single_tower(plain));
  {
    const Scope inside = tower::scope(distribution_);
    EXPECT_EQ(&tower::get_distribution_strategy(), &distribution_);
    EXPECT_EQ(&tower::current_strategy(), &distribution_);
    EXPECT_EQ(tower::get_tower_context(), nullptr);
    EXPECT_EQ(tower::get_cross_tower_context(), &distribution_.cross_replica());
  }
  EXPECT_EQ(&tower::get_strategy(), &plain);
  static_assert(std::is_same_v<tower::Strategy, tower::DistributionStrategy>);
  static_assert(std::is_same_v<tower::StrategyExtended, tower::CrossTowerContext>);
}

TEST_F(Tower, DevicesAreNamedWhenTheStrategyIsMade) {
  const tower::DeviceSpecification second = backend_.device_spec(1);
  const StrategyOptions options{.devices = {second},
                                .order = ReductionOrder::kTree,
                                .cross_device_ops = std::make_shared<ReductionToOneDevice>()};
  tower::MirroredStrategy strategy(backend_, options);
  EXPECT_THAT(tower::worker_devices(strategy), ElementsAre(second));
}

TEST_F(Tower, AlgorithmsOfReductionsAreObjects) {
  std::vector<std::string> lines;
  const auto log = [&](const std::string& line) { lines.push_back(line); };
  const std::vector<std::shared_ptr<CrossDeviceOps>> algorithms{
      std::make_shared<NativeAllReduce>(),
      std::make_shared<ReductionToOneDevice>(),
      std::make_shared<RingAllReduce>(),
      std::make_shared<TreeAllReduce>(),
      std::make_shared<HalvingDoublingAllReduce>(),
      std::make_shared<ShuffleAllReduce>(),
      std::make_shared<HierarchicalAllReduce>()};
  for (const auto& algorithm : algorithms) {
    tower::MirroredStrategy strategy(backend_, {.cross_device_ops = algorithm, .log = log});
    EXPECT_THAT(lines.back(), HasSubstr(std::string(algorithm->name())));
  }
  ReplicaDevices devices(backend_, {0, 1});
  EXPECT_EQ(choose_the_best(devices).algorithm->name(), "native");
}

// The packers of the package: packs around any algorithm.
TEST_F(Tower, PackersAreAlgorithms) {
  tower::MirroredStrategy strategy(
      backend_, {.cross_device_ops = in_packs(std::make_shared<ReductionToOneDevice>())});
  const auto sums = strategy.run([](ReplicaContext& replica) {
    const auto id = static_cast<float>(replica.replica_id());
    const auto sum = replica.all_reduce(
        ReduceOp::kSum, std::vector{Tensor<float>::full({2}, id), Tensor<float>::full({1}, 3)});
    return std::vector{sum[0].to_host()[1], sum[1].item()};
  });
  for (const auto& sum : sums) EXPECT_EQ(sum, (std::vector<float>{1, 6}));  // 0 + 1 and 3 + 3.
}

TEST_F(Tower, ReductionsAreNamed) {
  tower::CrossTowerContext& cross = distribution_.cross_replica();
  EXPECT_EQ(tower::reduce(distribution_, "sum", ids_).value(), 1);
  EXPECT_EQ(tower::reduce(cross, "SUM", ids_, text(1)).devices()[0], backend_.device_spec(1));
  EXPECT_EQ(tower::reduce_to(cross, tower::kSumReduction, ids_, text(1)).value(), 1);
  const PerReplica<double> halves{0.5, 1.5};
  EXPECT_EQ(tower::reduce(cross, "mean", halves).value(), 1);
  EXPECT_EQ(tower::reduce(cross, tower::kMeanReduction, tower::broadcast(cross, 4)).value(), 4);
  const PerReplica<Ints> lists{{1, 2}, {3}};
  EXPECT_EQ(tower::reduce(cross, "sum", lists, Axis(0)).value(), 6);
  EXPECT_THAT(error_of([&] { tower::reduce(cross, "median", ids_); }),
              AllOf(HasSubstr("BF-030"), HasSubstr("\"median\""), HasSubstr("tower_test.cpp")));
  EXPECT_THAT(error_of([&] { tower::reduce(cross, "sum", tower::broadcast(cross, 4)); }),
              AllOf(HasSubstr("BF-037"), HasSubstr("tower_test.cpp")));
  EXPECT_THAT(error_of([&] { tower::reduce(cross, "mean", ids_); }), HasSubstr("BF-035"));
  static_assert(std::is_same_v<tower::Reduction, ReduceOp>);
}

// The older systems have two reductions. A reduction of the user is a type with combine and
// finalize.
struct Span {
  std::pair<int, int> prepare(int value) const { return {value, value}; }
  std::pair<int, int> combine(std::pair<int, int> folded, std::pair<int, int> next) const {
    return {std::min(folded.first, next.first), std::max(folded.second, next.second)};
  }
  int finalize(std::pair<int, int> ends, int) const { return ends.second - ends.first; }
};

TEST_F(Tower, ReductionsOfOnesOwn) {
  static_assert(belfry::Reduction<Span, int>);
  EXPECT_EQ(tower::reduce(distribution_, Span{}, PerReplica<int>{7, 3}).value(), 4);
  const auto span = distribution_.replica_local_variable(Span{}, 0);
  const auto seen = tower::run(distribution_, [&](tower::ReplicaContext& replica) {
    span.on(replica) = 9 * tower::tower_id(replica);
    return replica.all_reduce(Span{}, 5 * tower::tower_id(replica));
  });
  EXPECT_THAT(seen, ElementsAre(5, 5));
  EXPECT_EQ(tower::read_var(distribution_, span), 9);
}

TEST_F(Tower, BatchesHaveADestinationEach) {
  const auto [a, b] = tower::batch_reduce(distribution_, "sum", std::pair{ids_, text(0)},
                                          std::pair{ids_, backend_.devices()});
  EXPECT_THAT(a.devices(), ElementsAre(backend_.device_spec(0)));
  EXPECT_THAT(b.devices(), ElementsAre(backend_.device_spec(0), backend_.device_spec(1)));
  const std::vector<std::pair<PerReplica<int>, std::string>> pairs = {{ids_, text(1)}};
  EXPECT_EQ(tower::batch_reduce_to(distribution_, "sum", pairs)[0].value(), 1);
}

TEST_F(Tower, BroadcastAndFetch) {
  const tower::MirroredValue<int> everywhere = tower::broadcast(distribution_, 7);
  EXPECT_EQ(everywhere[1], 7);
  EXPECT_THAT(tower::broadcast(distribution_, 7, text(1)).devices(),
              ElementsAre(backend_.device_spec(1)));
  EXPECT_EQ(tower::broadcast(distribution_, 7, std::vector<DeviceSpec>{}).devices(),
            backend_.devices());
  EXPECT_EQ(tower::fetch(distribution_, everywhere), 7);
  EXPECT_EQ(tower::fetch(distribution_, everywhere, text(1)), 7);
  EXPECT_EQ(tower::fetch(distribution_, everywhere, "/device:CPU:0"), 7);
  const auto twice = [](int x) { return 2 * x; };
  EXPECT_EQ(tower::fetch(distribution_, everywhere, text(1), twice), 14);
  EXPECT_EQ(tower::fetch(distribution_, everywhere, twice), 14);
  const auto variable = distribution_.mirrored_variable(5);
  EXPECT_EQ(tower::read_var(distribution_, variable), 5);
  EXPECT_TRUE(tower::group(distribution_, everywhere).done());
  static_assert(tower::Destination<DeviceSpec> && !tower::Destination<int>);
  static_assert(tower::Distributable<Ints> && !tower::Distributable<int&>);
}

TEST_F(Tower, MapDealsElementsOut) {
  const auto mapped =
      tower::map(distribution_, Ints{1, 2, 3}, [](int x, int by) { return x * by; }, 10);
  EXPECT_THAT(mapped[0], ElementsAre(10, 30));
  EXPECT_THAT(mapped[1], ElementsAre(20));
  EXPECT_EQ(distribution_.cross_replica().reduce_mapped(ReduceOp::kSum, mapped).value(), 60);
  const auto by_words = tower::map(
      distribution_, Ints{1, 2, 3},
      [](int x, const Keywords& words) { return words.step + words.rate * x; },
      Keywords{.step = 1, .rate = 0.5});
  EXPECT_THAT(by_words[0], ElementsAre(1.5, 2.5));
  EXPECT_THAT(by_words[1], ElementsAre(2.0));
}

TEST_F(Tower, VariablesOfATower) {
  const VariableScope local = tower::tower_local_var_scope(distribution_, "sum");
  const Variable<int> made = distribution_.variable(1);
  const tower::TowerLocalVariable<int> variable = made.as_replica_local();
  EXPECT_FALSE(variable.trainable());
  EXPECT_EQ(distribution_.mirrored_variable(1).synchronization(), Synchronization::kOnWrite);
  tower::call_for_each_tower(
      distribution_, [&](tower::TowerContext& ctx) { variable.on(ctx) += tower::tower_id(ctx); });
  EXPECT_EQ(tower::read_var(distribution_, variable), 3);
  EXPECT_EQ(tower::fetch(distribution_, variable), 3);
  EXPECT_TRUE(tower::variable_created_in_scope(distribution_, variable));
  const auto inside = tower::call_for_each_tower(distribution_, [&](tower::TowerContext& ctx) {
    const VariableScope mean = tower::tower_local_var_scope(ctx, "mean");
    return distribution_.variable(1.0, {.name = "inside"});
  });
  EXPECT_EQ(inside.aggregation(), Aggregation::kMean);
  const auto block = [&] { return distribution_.variable(1); };
  EXPECT_EQ(tower::tower_local_variable_scope(distribution_, "sum", block).aggregation(),
            Aggregation::kSum);
}

TEST_F(Tower, VariablesAreMadeAsAGetterHasIt) {
  const tower::VariableGetter getter = [](VariableOptions& options) {
    options.name += "/momentum";
  };
  const VariableScope scope = distribution_.variable_creator_scope(getter);
  EXPECT_EQ(distribution_.mirrored_variable(1, {.name = "w"}).name(), "w/momentum");
  const VariableScope sums =
      distribution_.variable_creator_scope(tower::ReductionVariableGetter("sum"));
  const VariableScope second = distribution_.variable_creator_scope(
      tower::ColocatedVariableGetter({backend_.device_spec(1)}));
  EXPECT_EQ(distribution_.variable(1).aggregation(), Aggregation::kSum);
  EXPECT_THAT(distribution_.mirrored_variable(1).devices(), ElementsAre(backend_.device_spec(1)));
}

TEST_F(Tower, VariablesBesideOthersAreUpdatedTogether) {
  const auto first = [&] {
    const VariableScope beside =
        tower::colocate_vars_with(distribution_, std::vector{backend_.device_spec(1)});
    return distribution_.mirrored_variable(1);
  }();
  const auto make = [&] { return distribution_.mirrored_variable(10); };
  const auto second = tower::colocate_variables_with(distribution_, first, make);
  EXPECT_EQ(second.devices(), first.devices());
  int calls = 0;
  const auto results = tower::update(
      distribution_, first,
      [&](int& component, int other) {
        ++calls;
        EXPECT_EQ(tower::current_update_device(), text(1));
        return component += other;
      },
      second);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(results.value(), 11);
}

TEST_F(Tower, NonSlotDevices) {
  const auto variable = distribution_.mirrored_variable(1);
  const auto devices = tower::non_slot_devices(distribution_, variable);
  EXPECT_EQ(tower::non_slot_devices(distribution_, std::vector{variable, variable}), devices);
  const VariableScope beside = tower::colocate_vars_with(distribution_, devices);
  const auto seen = tower::update_non_slot(
      distribution_, devices, [](int x) { return tower::current_device() + std::to_string(x); }, 5);
  EXPECT_EQ(seen[1], text(1) + "5");
  const auto sums = tower::update_non_slot(
      distribution_, devices, [](const Keywords& words) { return words.step + words.rate; },
      Keywords{.step = 1, .rate = 0.5});
  EXPECT_EQ(sums[0], 1.5);
  EXPECT_EQ(sums[1], 1.5);
}

TEST_F(Tower, DatasetsAreDistributed) {
  const Dataset<int> numbers =
      tower::experimental_make_numpy_dataset(distribution_, Ints{1, 2, 3, 4});
  const DistributeOptions options{.end_of_data = EndOfData::kDropPartialStep, .prefetch = 1};
  const auto total = [&](const auto& steps) {
    int sum = 0;
    for (const auto& batch : steps) {
      const auto sums = tower::call_for_each_tower(
          distribution_,
          [](tower::TowerContext& ctx, const Ints& examples) {
            return tower::all_reduce(ctx, "sum", examples.at(0));
          },
          batch);
      sum = 100 * sum + sums[0];
    }
    return sum;
  };
  const Dataset<Ints> batches = numbers.batch(2);
  EXPECT_EQ(total(tower::distribute_dataset(distribution_, batches, options)), 307);
  EXPECT_EQ(total(tower::experimental_distribute_dataset(distribution_, batches, options)), 307);
  const auto input_fn = [&](const InputContext& context) {
    return numbers.batch(context.get_per_replica_batch_size(2));
  };
  EXPECT_EQ(total(tower::make_input_fn_iterator(distribution_, input_fn, options)), 307);
}

TEST_F(Tower, StepsAreAskedForOneByOne) {
  const Dataset<Ints> batches = Dataset<int>::range(8).batch(4);
  auto iterator = tower::distribute_dataset(distribution_, batches,
                                            {.end_of_data = EndOfData::kDropPartialStep});
  EXPECT_EQ(iterator.get_next(), (PerReplica<Ints>{{0, 1}, {2, 3}}));
  for (const auto& step : iterator)
    EXPECT_EQ(step[0].size(), 2U);  // Takes nothing from the iterator.
  EXPECT_EQ(iterator.get_next(), (PerReplica<Ints>{{4, 5}, {6, 7}}));
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(code_of([&] { iterator.get_next(); }), ErrorCode::kOutOfBounds);
  }
}

// Of the last batch, of two rows, even sizes of 2 leave the second replica none.
TEST_F(Tower, StepsAreSharedAsWithAutomaticShardingOrWithout) {
  const Dataset<Ints> batches = Dataset<int>::range(6).batch(4);
  const auto last_step = [&](BatchSplit split) {
    DistributeOptions options{.end_of_data = EndOfData::kPadWithEmpties};
    options.DistributeOptions::split = split;
    auto iterator = tower::experimental_distribute_dataset(distribution_, batches, options);
    iterator.get_next();
    return iterator.get_next();
  };
  EXPECT_EQ(last_step(BatchSplit::kEvenSizes), (PerReplica<Ints>{{4, 5}, {}}));
  EXPECT_EQ(last_step(BatchSplit::kEachBatch), (PerReplica<Ints>{{4}, {5}}));
}

// 8 meets 2 in every possible way.
TEST_F(Tower, VariablesAreScatteredTo) {
  const auto after = [&](ScatterOp op) {
    const auto variable = distribution_.mirrored_variable(
        [] { return Tensor<float>::full({2}, 8.0F); }, {.aggregation = Aggregation::kOnlyFirst});
    tower::run(distribution_, [&](ReplicaContext& replica) {
      const IndexedSlices<float> slices = indexed_slices(
          Tensor<float>::full({1}, 2.0F), Tensor<std::int64_t>::full({1}, 1), Shape{2});
      scatter(replica, op, variable, slices);
    });
    return tower::read_var(distribution_, variable).to_host();
  };
  EXPECT_THAT(after(ScatterOp::kAdd), ElementsAre(8, 10));
  EXPECT_THAT(after(ScatterOp::kSubtract), ElementsAre(8, 6));
  EXPECT_THAT(after(ScatterOp::kMultiply), ElementsAre(8, 16));
  EXPECT_THAT(after(ScatterOp::kDivide), ElementsAre(8, 4));
  EXPECT_THAT(after(ScatterOp::kMinimum), ElementsAre(8, 2));
  EXPECT_THAT(after(ScatterOp::kMaximum), ElementsAre(8, 8));
  EXPECT_THAT(after(ScatterOp::kSet), ElementsAre(8, 2));
}

// The component is a tensor like all tensors.
TEST_F(Tower, RowsOfATowerLocalVariableAreScatteredToByItsTower) {
  const auto local = distribution_.replica_local_variable(
      ReduceOp::kSum, [] { return Tensor<float>::full({2, 1}, 8.0F); });
  const auto row = [] { return Tensor<std::int64_t>::full({1}, 1); };
  tower::run(distribution_, [&](tower::ReplicaContext& replica) {
    scatter_rows(ScatterOp::kAdd, local.on(replica), row(), Tensor<float>::full({1, 1}, 2.0F));
  });
  EXPECT_THAT(tower::read_var(distribution_, local).to_host(), ElementsAre(16, 20));
  const auto scattered = [&](tower::ReplicaContext& replica) {
    const IndexedSlices<float> slices =
        indexed_slices(Tensor<float>::full({1, 1}, 2.0F), row(), Shape{2, 1});
    scatter(replica, ScatterOp::kAdd, local, slices);
  };
  EXPECT_THAT(error_of([&] { tower::run(distribution_, scattered); }), HasSubstr("BF-080"));
}

TEST_F(Tower, ConfigureTakesOptions) {
  tower::configure(distribution_, {.order = ReductionOrder::kRing});
  EXPECT_THAT(
      error_of([&] { tower::configure(distribution_, {.devices = {backend_.device_spec(1)}}); }),
      AllOf(HasSubstr("BF-030"), HasSubstr("tower_test.cpp")));
}

TEST_F(Tower, MergesAtDifferentPlacesAreToldApart) {
  const auto merge_fn = [](CrossReplicaContext&) {};
  // Outside the assertion, because a macro puts all code on the same line.
  const auto fn = [&](tower::TowerContext& ctx) {
    if (tower::tower_id(ctx) == 0) {
      tower::merge_call(ctx, merge_fn);
    } else {
      tower::merge_call(ctx, merge_fn);
    }
  };
  EXPECT_THAT(error_of([&] { tower::run(distribution_, fn); }),
              AllOf(HasSubstr("BF-011"), HasSubstr("tower_test.cpp")));
}

TEST_F(Tower, TagsNameMerges) {
  const auto merge_fn = [](CrossReplicaContext& cross) { return cross.num_replicas(); };
  const PerReplica<std::string> names{"left", "right"};
  const auto twice = distribution_.run([&](tower::TowerContext& ctx) {
    return tower::merge_call(ctx, MergeTag{"count"}, merge_fn) +
           tower::all_reduce(ctx, MergeTag{"ids"}, "sum", ctx.replica_id());
  });
  EXPECT_EQ(twice[1], 3);
  EXPECT_THAT(error_of([&] {
                distribution_.run(
                    [&](tower::TowerContext& ctx, const std::string& name) {
                      tower::merge_call(ctx, MergeTag{name}, merge_fn);
                    },
                    names);
              }),
              AllOf(HasSubstr("BF-011"), HasSubstr("merge_call \"left\"")));
  EXPECT_THAT(error_of([&] {
                distribution_.run(
                    [&](tower::TowerContext& ctx, const std::string& name) {
                      tower::all_reduce(ctx, MergeTag{name}, "sum", 1);
                    },
                    names);
              }),
              AllOf(HasSubstr("BF-011"), HasSubstr("all_reduce \"right\"")));
}

TEST_F(Tower, OutsideEverythingAMergeIsExecutedAtOnce) {
  const auto merge_fn = [](CrossReplicaContext&, const tower::DistributedValue<std::string>& x) {
    return "foo_" + x[0];
  };
  EXPECT_EQ(tower::merge_call(*tower::get_tower_context(), merge_fn, std::string("bar")),
            "foo_bar");
  // A tensor in host memory is the mean of itself.
  const auto mean_fn = [](CrossReplicaContext& cross, const PerReplica<Tensor<float>>& x) {
    return cross.reduce(ReduceOp::kMean, x);
  };
  const Placement there = tower::get_strategy().placement(0);
  const auto own = Tensor<float>::full({2}, 3.0F, there);
  const Tensor<float> mean = tower::merge_call(*tower::get_tower_context(), mean_fn, own);
  EXPECT_THAT(mean.to_host(), ElementsAre(3, 3));
}

}  // namespace
}  // namespace belfry::tower_test
