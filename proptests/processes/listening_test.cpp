// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Processes in which no replica takes part in a run, over three hosts with the replicas 0 and 1, 2,
// and 3 to 5. Replica r brings 1 + r. Without process 0 the sum is 3 + 4 + 5 + 6 = 18, and the mean
// 4.5; without process 1 the sum is 18 and the mean 3.6; without process 2 the sum is 1 + 2 + 3 =
// 6, and the mean 2.
#include "belfry/belfry.h"
#include "belfry/scatter.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/each_place.h"
#include "processes/hosts.h"
#include "processes/listeners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace belfry::testing::listening {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

// The results of the replicas that take part, on all hosts.
template <class F>
auto results_without(int listener, const F& replica_function) {
  using Result = std::invoke_result_t<const F&, ReplicaContext&, double>;
  std::vector<Result> results;
  on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
    const PerReplica<Result> own = strategy.run(replica_function, values_without(listener));
    EXPECT_EQ(own.size(), 6);
    EXPECT_EQ(own.begin() == own.end(), host.group().rank() == listener);
    results.insert(results.end(), own.begin(), own.end());
  });
  return results;
}

TEST(Listening, ProcessesCallNoFunction) {
  testing::asserts("SEM-212");
  at_each_place(3, [](int listener) {
    on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
      int calls = 0;
      const auto count = [&](CrossReplicaContext&, const PerReplica<double>&) { ++calls; };
      strategy.run([&](ReplicaContext& replica, double x) { replica.merge_call(count, x); },
                   values_without(listener));
      EXPECT_EQ(calls, host.group().rank() == listener ? 0 : 1);
    });
  });
}

TEST(Listening, ProcessesAddNothingToReductions) {
  testing::asserts("SEM-212");
  const std::vector<double> present[] = {{3, 4, 5, 6}, {1, 2, 4, 5, 6}, {1, 2, 3}};
  const double means[] = {4.5, 3.6, 2};
  at_each_place(3, [&](int listener) {
    const std::size_t count = present[listener].size();
    EXPECT_EQ(
        results_without(listener, [](ReplicaContext& replica,
                                     double x) { return replica.all_reduce(ReduceOp::kSum, x); }),
        std::vector<double>(count, listener == 2 ? 6 : 18));
    EXPECT_EQ(results_without(listener,
                              [](ReplicaContext& replica, double x) {
                                const auto tensor = Tensor<double>::full({1}, x);
                                return replica.all_reduce(ReduceOp::kMean, tensor).item();
                              }),
              std::vector<double>(count, means[listener]));
    EXPECT_EQ(results_without(listener,
                              [](ReplicaContext& replica, double x) {
                                return replica.all_gather(std::vector<double>{x});
                              }),
              std::vector(count, present[listener]));
  });
}

TEST(Listening, ProcessesGetNewValuesOfMirroredVariables) {
  testing::asserts("SEM-212");
  for (const int listener : {0, 1, 2}) {
    on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host&) {
      const auto sum = strategy.mirrored_variable(1.0, {.aggregation = Aggregation::kSum});
      const auto table = strategy.mirrored_variable([] { return Tensor<double>::full({2}, 1); });
      const auto kept = strategy.mirrored_variable(std::string("kept"));
      strategy.run(
          [&](ReplicaContext& replica, double x) {
            replica.assign_add(sum, x);
            replica.merge_call(
                [&](CrossReplicaContext& cross, const PerReplica<double>& all) {
                  cross.update(
                      table, [](Tensor<double>& own, double by) { own = own * by; },
                      cross.reduce(ReduceOp::kSum, all));
                  // Of the components that the update has just changed.
                  cross.update_each(
                      table,
                      [](Tensor<double>& own, double by) {
                        own = own + by;
                        return by;
                      },
                      sum);
                },
                x);
          },
          values_without(listener));
      // 15 without process 2, and 18 without one of the others.
      const double total = listener == 2 ? 6 : 18;
      EXPECT_EQ(strategy.read(sum), 1 + total);
      EXPECT_THAT(strategy.read(table).to_host(), Each(total + 1 + total));
      EXPECT_EQ(strategy.read(kept), "kept");
      for (const Tensor<double>& own : strategy.local_values(table)) {
        EXPECT_THAT(own.to_host(), Each(total + 1 + total));
      }
    });
  }
}

TEST(Listening, ProcessesGetScatteredRows) {
  testing::asserts("SEM-212");
  const std::vector<double> rows[] = {{0, 0, 3, 4, 5, 6}, {1, 2, 0, 4, 5, 6}, {1, 2, 3, 0, 0, 0}};
  at_each_place(3, [&](int listener) {
    on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host&) {
      const auto table = strategy.mirrored_variable([] { return Tensor<double>::full({6, 1}, 0); },
                                                    {.aggregation = Aggregation::kSum});
      strategy.run(
          [&](ReplicaContext& replica, double x) {
            const IndexedSlices<double> row{Tensor<double>::full({1, 1}, x),
                                            Tensor<std::int64_t>::full({1}, replica.replica_id()),
                                            Shape{6, 1}};
            scatter(replica, ScatterOp::kAdd, table, row);
          },
          values_without(listener));
      EXPECT_EQ(strategy.read(table).to_host(), rows[listener]);
    });
  });
}

TEST(Listening, ProcessesNeedNoHandleOfAMirroredVariable) {
  testing::asserts("SEM-212");
  on_hosts([](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
    auto variable = strategy.mirrored_variable(0.0, {.aggregation = Aggregation::kSum});
    const auto other = strategy.mirrored_variable(0.0, {.aggregation = Aggregation::kSum});
    if (host.group().rank() == 1) variable = {};
    strategy.run(
        [&](ReplicaContext& replica, double x) {
          replica.assign_add(variable, x);
          replica.assign_add(other, x);
        },
        values_without(1));
    EXPECT_EQ(strategy.read(other), 18);
  });
}

TEST(Listening, ProcessesGiveTheirReplicaLocalComponents) {
  testing::asserts("SEM-212");
  for (const int listener : {0, 1}) {
    on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
      const auto sum = strategy.replica_local_variable(ReduceOp::kSum, 10.0);
      const auto rows = strategy.replica_local_variable(
          ReduceOp::kMean, [] { return Tensor<double>::full({1}, 60); });
      const auto first = strategy.replica_local_variable(Aggregation::kOnlyFirst, 7.0);
      const PerReplica<double> found = strategy.run(
          [&](ReplicaContext& replica, double x) {
            replica.assign(sum, x);
            replica.assign(rows, Tensor<double>::full({1}, 6 * x));
            replica.assign(first, x);
            return replica.merge_call([&](CrossReplicaContext& cross) {
              return strategy.read(sum) + 1000 * strategy.read(rows).item() +
                     1e6 * cross.fetch(sum) + 1e9 * strategy.read(first);
            });
          },
          values_without(listener));
      // Process 0 keeps two components, process 1 keeps one; the others bring 18.
      const int kept = listener == 0 ? 2 : 1;
      const double total = 18 + 10 * kept;
      const double mean = (6 * 18 + 60 * kept) / 6.0;
      const double of_first = listener == 0 ? 7 : 1;
      EXPECT_THAT(found, Each(total + 1000 * mean + 1e6 * total + 1e9 * of_first));
      EXPECT_EQ(strategy.read(sum), total);
      (void)host;
    });
  }
}

TEST(Listening, ToAVariableNamesNoVariable) {
  testing::asserts("SEM-212");
  on_hosts([](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
    const auto variable = strategy.mirrored_variable(5.0);
    const auto returned =
        strategy.run([&](ReplicaContext&, double) { return variable; }, values_without(1));
    if (host.group().rank() == 1) {
      EXPECT_THROW(strategy.read(returned), InvalidArgumentError);
    } else {
      EXPECT_EQ(strategy.read(returned), 5);
    }
  });
}

TEST(Listening, IsNoRunWithoutReplicas) {
  testing::asserts("SEM-212");
  const auto texts = texts_on_hosts<InvalidArgumentError>([](auto& strategy, sim::Host&) {
    const PerReplica<double> nothing(detail::ReplicaArray<double>(),
                                     detail::Participants(6, std::vector<int>()));
    strategy.run([](ReplicaContext&, double) {}, nothing);
  });
  EXPECT_THAT(texts, Each(AllOf(HasSubstr("BF-030"), HasSubstr("no replica"))));
}

TEST(Listening, ToARunMeetsNoOtherCall) {
  testing::asserts("SEM-212");
  // A process listens; the others read a variable in place of the run.
  at_each_place(3, [](int listener) {
    const auto texts = texts_on_hosts<MergeMismatchError>([&](auto& strategy, sim::Host& host) {
      const auto local = strategy.replica_local_variable(ReduceOp::kSum, 1.0);
      if (host.group().rank() == listener) {
        strategy.run([](ReplicaContext&, double) {}, values_without(listener));
      } else {
        strategy.read(local);
      }
    });
    EXPECT_THAT(texts, Each(AllOf(HasSubstr("BF-012"), HasSubstr("calls read"),
                                  HasSubstr("none of its replicas takes part"))));
  });
}

TEST(Listening, LeavesResultsWithoutComponents) {
  testing::asserts("SEM-212");
  const std::vector<double> present[] = {{3, 4, 5, 6}, {1, 2, 4, 5, 6}, {1, 2, 3}};
  at_each_place(3, [&](int listener) {
    on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
      const auto tensors =
          strategy.run([](ReplicaContext&, double x) { return Tensor<double>::full({1}, x); },
                       values_without(listener));
      CrossReplicaContext& cross = strategy.cross_replica();
      const double sum = listener == 2 ? 6 : 18;
      EXPECT_EQ(cross.reduce(ReduceOp::kSum, tensors).value().item(), sum);
      EXPECT_EQ(cross.gather(tensors).to_host(), present[listener]);
      EXPECT_EQ(strategy.local_results(tensors).empty(), host.group().rank() == listener);
      // An argument: the process listens again.
      const auto again = strategy.run(
          [](ReplicaContext& replica, const Tensor<double>& own) {
            return replica.all_reduce(ReduceOp::kSum, own).item();
          },
          tensors);
      EXPECT_THAT(again, Each(sum));
    });
  });
}

}  // namespace
}  // namespace belfry::testing::listening
