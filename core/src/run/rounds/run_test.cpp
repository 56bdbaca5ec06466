// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Arguments and results of runs and merges.
#include "belfry/backend/host_backend.h"
#include "belfry/strategies.h"
#include "belfry/strategy.h"
#include "belfry/testing/asserts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace belfry::run_test {
namespace {

using ::testing::ElementsAre;

struct Pair {
  double first = 0;
  std::vector<float> second;
  static auto members(auto& self) { return std::tie(self.first, self.second); }
};

class Run : public ::testing::Test {
 protected:
  HostBackend backend_{3};
  MirroredStrategy strategy_{backend_};
};

TEST_F(Run, GivesWhatEachReplicaReturned) {
  testing::asserts("SEM-10");
  const auto ids = strategy_.run([](ReplicaContext& replica) { return replica.replica_id(); });
  static_assert(std::is_same_v<decltype(ids), const PerReplica<int>>);
  EXPECT_THAT(ids, ElementsAre(0, 1, 2));
}

TEST_F(Run, GivesNothingForVoid) {
  testing::asserts("SEM-10");
  std::atomic<int> calls{0};
  static_assert(std::is_void_v<decltype(strategy_.run([](ReplicaContext&) {}))>);
  strategy_.run([&](ReplicaContext&) { ++calls; });
  EXPECT_EQ(calls, 3);
}

TEST_F(Run, GivesAPerReplicaForOneReplicaToo) {
  testing::asserts("SEM-10", "SEM-15");
  HostBackend backend(1);
  MirroredStrategy one(backend);
  const auto ids = one.run([](ReplicaContext& replica) {
    return replica.all_reduce(ReduceOp::kMean, 3.0) + replica.num_replicas();
  });
  static_assert(std::is_same_v<decltype(ids), const PerReplica<double>>);
  EXPECT_THAT(ids, ElementsAre(4.0));
}

// A runner has room for the states of eight replicas in itself.
TEST_F(Run, MergesAndFailsForFewReplicasAndForMany) {
  for (const int replicas : {2, 7, 8, 9, 40}) {
    HostBackend backend(replicas);
    MirroredStrategy strategy(backend);
    const auto sums = strategy.run([](ReplicaContext& replica) {
      return replica.all_reduce(ReduceOp::kSum, replica.replica_id());
    });
    EXPECT_THAT(sums, ::testing::Each(replicas * (replicas - 1) / 2));
    const auto fail = [](ReplicaContext& replica) {
      if (replica.replica_id() < replica.num_replicas() - 1) replica.all_reduce(ReduceOp::kSum, 1);
    };
    EXPECT_THROW(strategy.run(fail), MergeMismatchError);
    ASSERT_TRUE(strategy.last_failure());
    EXPECT_EQ(strategy.last_failure()->replicas.size(), static_cast<std::size_t>(replicas));
  }
}

TEST_F(Run, GivesAReturnedVariableAsItself) {
  testing::asserts("SEM-10");
  auto variable = strategy_.mirrored_variable(1);
  const auto returned = strategy_.run([&](ReplicaContext&) { return variable; });
  static_assert(std::is_same_v<decltype(returned), const MirroredVariable<int>>);
  EXPECT_EQ(returned, variable);
}

TEST_F(Run, TakesBoolsAndTypesThatCannotBeCopied) {
  const auto odd = strategy_.run([](ReplicaContext& replica) { return replica.replica_id() == 1; });
  EXPECT_THAT(odd, ElementsAre(false, true, false));
  const auto owned = strategy_.run(
      [](ReplicaContext& replica) { return std::make_unique<int>(replica.replica_id()); });
  EXPECT_EQ(*owned[2], 2);
}

TEST_F(Run, HandsEachReplicaItsComponent) {
  testing::asserts("SEM-13");
  const PerReplica<int> values{10, 20, 30};
  const auto sums = strategy_.run([](ReplicaContext&, int own, const std::vector<int>& nested,
                                     int same) { return own + nested[0] + nested[1] + same; },
                                  values, std::vector<PerReplica<int>>{values, values}, 1);
  EXPECT_THAT(sums, ElementsAre(31, 61, 91));
}

TEST_F(Run, TakesUpToEightArguments) {
  const auto sum = strategy_.run([](ReplicaContext&, int a, int b, int c, int d, int e, int f,
                                    int g, int h) { return a + b + c + d + e + f + g + h; },
                                 1, 2, 3, 4, 5, 6, 7, 8);
  EXPECT_EQ(sum[0], 36);
}

TEST_F(Run, TakesItsOptionsAsAVariable) {
  const RunOptions options{.concurrent = false};
  std::vector<int> order;
  strategy_.run(options, [&](ReplicaContext& replica) { order.push_back(replica.replica_id()); });
  strategy_.run(options, [&](ReplicaContext&, int x) { order.push_back(x); }, 7);
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 7, 7, 7));
}

TEST_F(Run, LendsTheFunctionToAllReplicas) {
  struct Counter {
    std::shared_ptr<std::atomic<int>> calls = std::make_shared<std::atomic<int>>(0);
    Counter() = default;
    Counter(const Counter&) = delete;
    Counter& operator=(const Counter&) = delete;
    void operator()(ReplicaContext&) const { ++*calls; }
  };
  const Counter counter;
  strategy_.run(counter);
  EXPECT_EQ(*counter.calls, 3);
}

TEST_F(Run, MergesGiveComponentsOrCopies) {
  const auto results = strategy_.run([](ReplicaContext& replica) {
    const auto [own, same, text] = replica.merge_call(
        [](CrossReplicaContext& cross, const PerReplica<int>& ids) {
          return std::tuple(ids, cross.broadcast(5), std::string("x"));
        },
        replica.replica_id());
    return std::to_string(own) + std::to_string(same) + text;
  });
  EXPECT_THAT(results, ElementsAre("05x", "15x", "25x"));
}

TEST_F(Run, MergesKeepPerReplicaValuesAndVariablesAsTheyAre) {
  testing::asserts("SEM-12");
  auto variable = strategy_.mirrored_variable(4);
  const PerReplica<int> outside{1, 2, 3};
  strategy_.run([&](ReplicaContext& replica) {
    replica.merge_call(
        [](CrossReplicaContext& cross, const PerReplica<int>& values,
           const MirroredVariable<int>& same) {
          EXPECT_THAT(values, ElementsAre(1, 2, 3));
          cross.update(same, [](int& component) { ++component; });
        },
        outside, variable);
  });
  EXPECT_EQ(strategy_.read(variable), 5);
}

TEST_F(Run, MergesMoveWhatTheyAreGivenToKeep) {
  testing::asserts("SEM-3");
  const auto sizes = strategy_.run([](ReplicaContext& replica) {
    auto own = std::make_unique<int>(replica.replica_id());
    return replica.merge_call(
        [](CrossReplicaContext&, const PerReplica<std::unique_ptr<int>>& all) {
          return *all[0] + *all[1] + *all[2];
        },
        std::move(own));
  });
  EXPECT_THAT(sizes, ElementsAre(3, 3, 3));
}

TEST_F(Run, MergesMeetThroughWrappersThatHandTheirSiteOn) {
  const auto sync = [](ReplicaContext& replica, int value, CallSite site) {
    return replica.merge_call_at(
        site, [](CrossReplicaContext&, const PerReplica<int>& all) { return all[2]; }, value);
  };
  const auto results = strategy_.run([&](ReplicaContext& replica) {
    return sync(replica, replica.replica_id(), {"model.cc", 7});
  });
  EXPECT_THAT(results, ElementsAre(2, 2, 2));
}

TEST_F(Run, ReducesNestsOfEveryKind) {
  testing::asserts("SEM-20", "SEM-35");
  using Nest = std::tuple<int, std::map<std::string, std::vector<double>>, std::optional<float>,
                          std::array<std::int8_t, 2>, std::vector<Pair>>;
  const auto sums = strategy_.run([](ReplicaContext& replica) {
    const int id = replica.replica_id();
    const Nest own{id,
                   {{"b", {1.0}}, {"a", {0.5 * id, 2.0}}},
                   1.5F,
                   {static_cast<std::int8_t>(100), static_cast<std::int8_t>(id)},
                   {{1.0, {2.0F}}, {3.0, {}}}};
    return replica.all_reduce(ReduceOp::kSum, own);
  });
  const auto& [number, named, maybe, bytes, pairs] = sums[1];
  EXPECT_EQ(number, 3);
  EXPECT_THAT(named.at("a"), ElementsAre(1.5, 6.0));
  EXPECT_THAT(named.at("b"), ElementsAre(3.0));
  EXPECT_EQ(maybe, 4.5F);
  EXPECT_THAT(bytes, ElementsAre(44, 3));  // 300 - 256
  EXPECT_EQ(pairs[0].first, 3.0);
  EXPECT_THAT(pairs[0].second, ElementsAre(6.0F));
  EXPECT_EQ(pairs[1].first, 9.0);
  EXPECT_TRUE(pairs[1].second.empty());
}

TEST_F(Run, CountsWhatItDoes) {
  auto variable = strategy_.mirrored_variable(1.0, {.aggregation = Aggregation::kSum});
  strategy_.run([&](ReplicaContext& replica) {
    replica.all_reduce(ReduceOp::kSum, std::vector<float>{1, 2});
    replica.assign_add(variable, 1.0);
    replica.merge_call([](CrossReplicaContext&) {});
  });
  const StrategyStatistics statistics = strategy_.statistics();
  EXPECT_EQ(statistics.runs, 1U);
  EXPECT_EQ(statistics.merges, 3U);
  EXPECT_EQ(statistics.updates, 1U);
  EXPECT_EQ(statistics.reduction.reductions, 2U);
  EXPECT_EQ(statistics.reduction.host_leaves, 2U);
  EXPECT_EQ(statistics.reduction.tensor_leaves, 0U);
  EXPECT_EQ(statistics.reduction.bytes, 3U * (2 * 4 + 8));
}

TEST_F(Run, CopiesWhatFunctionsReturnReferencesTo) {
  // The pair that a replica sees is made for its call alone.
  const std::pair argument(
      PerReplica<std::string>{std::string(100, 'a'), std::string(100, 'b'), std::string(100, 'c')},
      1);
  const auto first = [](ReplicaContext&,
                        const std::pair<std::string, int>& own) -> const std::string& {
    return own.first;
  };
  EXPECT_THAT(strategy_.run(first, argument),
              ElementsAre(std::string(100, 'a'), std::string(100, 'b'), std::string(100, 'c')));
}

TEST_F(Run, NamesThatAreOnlyANumberAreNoName) {
  const auto sums = strategy_.run([&](ReplicaContext& replica) {
    const auto named = [&](const char* first, const char* others) {
      return strategy_.mirrored_variable(1, {.name = replica.replica_id() == 0 ? first : others})
          .on(replica);
    };
    return named("", "_1") + named("a//b", "a/_1/b") + named("w", "w_2");
  });
  EXPECT_THAT(sums, ::testing::Each(3));
}

}  // namespace
}  // namespace belfry::run_test
