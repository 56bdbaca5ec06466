// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Runs with absent replicas (SEM-90, SEM-91).
#include "belfry/backend/host_backend.h"
#include "belfry/scatter.h"
#include "belfry/strategies.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/each_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry::participation_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Ten times the replica id, for the replicas `ids` of four.
PerReplica<double> values_of(std::vector<int> ids) {
  detail::ReplicaArray<double> values(static_cast<int>(ids.size()));
  for (int id : ids) values.emplace_back(10.0 * id);
  return PerReplica<double>(std::move(values), detail::Participants(4, std::move(ids)));
}

class Participation : public ::testing::Test {
 protected:
  HostBackend backend_{4};
  MirroredStrategy strategy_{backend_};
};

TEST_F(Participation, ReplicasWithoutAComponentDoNotRun) {
  testing::asserts("SEM-90");
  std::vector<int> ran(4, 0);
  const auto results = strategy_.run(
      [&](ReplicaContext& replica, double own) {
        ran[static_cast<std::size_t>(replica.replica_id())] += 1;
        return own + 1;
      },
      values_of({1, 3}));
  EXPECT_THAT(ran, ElementsAre(0, 1, 0, 1));
  EXPECT_EQ(results.size(), 4);
  EXPECT_FALSE(results.has(0));
  EXPECT_TRUE(results.has(3));
  EXPECT_FALSE(results.has(4));
  EXPECT_FALSE(results.has(-1));
  EXPECT_EQ(results[1], 11);
  EXPECT_EQ(results[3], 31);
  EXPECT_THAT(results, ElementsAre(11, 31));  // Those there are, in replica order.
}

TEST_F(Participation, AskingForAMissingComponentIsAnError) {
  testing::asserts("SEM-90");
  const PerReplica<double> values = values_of({1, 3});
  try {
    std::ignore = values[2];
    FAIL() << "no error";
  } catch (const InvalidArgumentError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(error.report().summary, "replica 2 has no component: it took no part");
    EXPECT_EQ(error.report().expected, "a replica among 1 3");
  }
  EXPECT_THROW(std::ignore = values[4], InvalidArgumentError);
  EXPECT_FALSE(values == values_of({0, 3}));
  EXPECT_TRUE(values == values_of({1, 3}));
}

// The call refuses lost and missing values before any replica runs.
TEST_F(Participation, ValuesOfOtherReplicasAreRefused) {
  testing::asserts("SEM-13");
  bool ran = false;
  const auto refused = [&](const auto& argument) {
    const CallSite here = CallSite::here();
    try {
      strategy_.run([&](ReplicaContext&, const auto&) { ran = true; }, argument, here);
    } catch (const InvalidArgumentError& error) {
      EXPECT_EQ(error.report().site.line, here.line);
      return error.report().summary;
    }
    return std::string("no error");
  };
  const PerReplica<int> few{1, 2};
  const PerReplica<int> many{1, 2, 3, 4, 5};
  EXPECT_EQ(refused(few), "a value of 2 replicas in a strategy of 4");
  EXPECT_EQ(refused(many), "a value of 5 replicas in a strategy of 4");
  EXPECT_EQ(refused(std::tuple(1, std::vector{many})), "a value of 5 replicas in a strategy of 4");

  HostBackend backend{3};
  MirroredStrategy smaller{backend};
  EXPECT_EQ(refused(smaller.cross_replica().broadcast(1)),
            "a value of 3 replicas in a strategy of 4");
  EXPECT_FALSE(ran);
}

TEST_F(Participation, MergesReturnValuesOfAllReplicas) {
  const auto merged = [&](const PerReplica<int>& result) {
    return strategy_.run([&](ReplicaContext& replica) {
      return replica.merge_call([&](CrossReplicaContext&) { return result; });
    });
  };
  EXPECT_THAT(merged({1, 2, 3, 4}), ElementsAre(1, 2, 3, 4));
  EXPECT_THROW(merged({1, 2, 3}), InvalidArgumentError);
  EXPECT_THROW(merged({1, 2, 3, 4, 5}), InvalidArgumentError);
  EXPECT_THAT(strategy_.last_failure()->summary, "a value of 5 replicas in a strategy of 4");
}

TEST_F(Participation, MeansAreOverThoseThatTakePart) {
  testing::asserts("SEM-91");
  testing::at_each_place(4, [&](int absent) {
    std::vector<int> present{0, 1, 2, 3};
    present.erase(present.begin() + absent);
    const auto means = strategy_.run(
        [](ReplicaContext& replica, double own) {
          return std::pair(
              replica.all_reduce(ReduceOp::kMean, own),
              replica.all_reduce(ReduceOp::kMean, Tensor<double>::full({2}, own)).to_host());
        },
        values_of(present));
    const double mean = (60.0 - 10 * absent) / 3;
    for (const auto& [host, tensor] : means) {
      EXPECT_EQ(host, mean);
      EXPECT_THAT(tensor, ElementsAre(mean, mean));
    }
  });
}

TEST_F(Participation, ThoseThatTakeNoPartGetWhatMergesGiveToAll) {
  testing::asserts("SEM-91");
  const auto weight = strategy_.mirrored_variable([] { return Tensor<double>::zeros({1}); });
  strategy_.run(
      [&](ReplicaContext& replica, double own) {
        replica.merge_call(
            [&](CrossReplicaContext& cross, const PerReplica<Tensor<double>>& all) {
              EXPECT_EQ(cross.num_replicas(), 4);
              EXPECT_EQ(all.size(), 4);
              EXPECT_FALSE(all.has(0));
              cross.update(
                  weight,
                  [](Tensor<double>& w, const Tensor<double>& mean) { w = subtract(w, mean); },
                  cross.reduce(ReduceOp::kMean, all));
            },
            Tensor<double>::full({1}, own));
      },
      values_of({1, 2}));
  const auto components = strategy_.local_values(weight);
  for (int replica = 0; replica < 4; ++replica) {
    EXPECT_EQ(components[replica].item(), -15);
    EXPECT_EQ(components[replica].placement(), strategy_.placement(replica));
  }
}

TEST_F(Participation, TheFirstThatTakesPartStandsForReplica0) {
  testing::asserts("SEM-90");
  auto first = strategy_.mirrored_variable(0.0, {.aggregation = Aggregation::kOnlyFirst});
  int calls = 0;
  const auto made = strategy_.run(
      [&](ReplicaContext& replica, double own) {
        replica.assign(first, own);
        const auto variable = strategy_.mirrored_variable([&] { return ++calls; });
        return std::pair(variable.on(replica),
                         replica.merge_call([own](CrossReplicaContext&) { return own; }));
      },
      values_of({2, 3}));
  EXPECT_EQ(strategy_.read(first), 20);
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(made, ElementsAre(std::pair(1, 20.0), std::pair(1, 20.0)));
}

TEST_F(Participation, AReplicaRunsWhenItHasEveryArgument) {
  const auto both = strategy_.run(
      [](ReplicaContext&, double a, const std::tuple<double, int>& b) {
        return a + std::get<0>(b) + std::get<1>(b);
      },
      values_of({0, 1, 2}), std::tuple(values_of({1, 2, 3}), 5));
  EXPECT_THAT(both, ElementsAre(25, 45));
  EXPECT_FALSE(both.has(0));
  EXPECT_FALSE(both.has(3));
  try {
    strategy_.run([](ReplicaContext&, double, double) {}, values_of({0, 1}), values_of({2, 3}));
    FAIL() << "no error";
  } catch (const InvalidArgumentError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no replica has a component of every argument of run"));
    EXPECT_THAT(error.what(), HasSubstr("participation_test.cpp"));
  }
}

TEST_F(Participation, MismatchesAreFoundAmongThoseThatTakePart) {
  try {
    strategy_.run(
        [](ReplicaContext& replica, double) {
          if (replica.replica_id() == 3) return;
          replica.merge_call([](CrossReplicaContext&) {});
        },
        values_of({1, 3}));
    FAIL() << "no error";
  } catch (const MergeMismatchError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kMergeMissing);
    ASSERT_EQ(error.report().replicas.size(), 4U);
    EXPECT_EQ(error.report().replicas[0].what, "takes no part in this run");
    EXPECT_EQ(error.report().replicas[3].what, "returned before its first merge");
  }
  try {
    strategy_.run(
        [](ReplicaContext& replica, double own) {
          replica.all_reduce(ReduceOp::kSum, std::vector<double>(static_cast<std::size_t>(own)));
        },
        values_of({1, 3}));
    FAIL() << "no error";
  } catch (const StructureMismatchError& error) {
    ASSERT_EQ(error.report().replicas.size(), 2U);
    EXPECT_EQ(error.report().replicas[0].replica_id, 1);
    EXPECT_THAT(error.report().replicas[1].what, HasSubstr("float64[30]"));
  }
  EXPECT_THROW(strategy_.run(
                   [](ReplicaContext& replica, double) {
                     if (replica.replica_id() == 1) throw std::runtime_error("on purpose");
                   },
                   values_of({1, 3})),
               std::runtime_error);
}

TEST_F(Participation, MismatchedMergesNameTheReplicasThatTakePart) {
  try {
    strategy_.run(
        [](ReplicaContext& replica, double own) {
          replica.all_reduce(ReduceOp::kSum, own, CallSite{"train.cc", replica.replica_id()});
        },
        values_of({1, 3}));
    FAIL() << "no error";
  } catch (const MergeMismatchError& error) {
    ASSERT_EQ(error.report().replicas.size(), 2U);
    for (const auto& [position, replica] : {std::pair(0U, 1), std::pair(1U, 3)}) {
      EXPECT_EQ(error.report().replicas[position].replica_id, replica);
      EXPECT_EQ(error.report().replicas[position].site.line, replica);
    }
  }
}

// A mismatch names the replicas of the values, not the places of the replicas among the
// participants.
TEST_F(Participation, AGatherThatDoesNotFitNamesTheReplicasThatTakePart) {
  const auto reported = [&](const auto& body) {
    std::vector<std::pair<int, std::string>> replicas;
    try {
      strategy_.run([&](ReplicaContext& replica, double) { body(replica); }, values_of({1, 3}));
    } catch (const StructureMismatchError& error) {
      for (const ReplicaReport& report : error.report().replicas) {
        replicas.emplace_back(report.replica_id, report.what);
      }
    }
    return replicas;
  };
  EXPECT_THAT(reported([](ReplicaContext& replica) {
                replica.all_gather(Tensor<float>::zeros({1, replica.replica_id()}));
              }),
              ElementsAre(std::pair(1, "brings shape [1,1]"), std::pair(3, "brings shape [1,3]")));
  EXPECT_THAT(reported([](ReplicaContext& replica) {
                replica.all_gather(Tensor<float>::zeros({2, 2}), Axis(replica.replica_id() / 2));
              }),
              ElementsAre(std::pair(1, "gathers along 0"), std::pair(3, "gathers along 1")));
}

TEST_F(Participation, SlicesAreCombinedOverThoseThatTakePart) {
  const auto table = strategy_.mirrored_variable([] { return Tensor<float>::zeros({4}); },
                                                 {.aggregation = Aggregation::kMean});
  const auto sums = strategy_.run(
      [&](ReplicaContext& replica, double own) {
        const auto slices =
            indexed_slices(Tensor<float>::full({1}, static_cast<float>(own)),
                           Tensor<std::int64_t>::full({1}, replica.replica_id()), Shape{4});
        scatter(replica, ScatterOp::kAdd, table, slices);
        return to_dense(all_reduce_slices(replica, ReduceOp::kSum, slices)).to_host();
      },
      values_of({1, 3}));
  EXPECT_THAT(sums, ElementsAre(ElementsAre(0, 10, 0, 30), ElementsAre(0, 10, 0, 30)));
  for (const auto& component : strategy_.local_values(table)) {
    EXPECT_THAT(component.to_host(), ElementsAre(0, 5, 0, 15));
  }
}

// Each replica's own are looked at: together they would fit.
TEST_F(Participation, SlicesFitBeforeTheyAreJoined) {
  const auto table = strategy_.mirrored_variable([] { return Tensor<float>::zeros({4}); },
                                                 {.aggregation = Aggregation::kSum});
  EXPECT_THROW(strategy_.run([&](ReplicaContext& replica) {
    const std::int64_t rows = replica.replica_id() % 2;
    scatter(replica, ScatterOp::kAdd, table,
            {Tensor<float>::full({1 + rows}, 1.0F), Tensor<std::int64_t>::full({2 - rows}, 0),
             Shape{4}});
  }),
               InvalidArgumentError);
}

}  // namespace
}  // namespace belfry::participation_test
