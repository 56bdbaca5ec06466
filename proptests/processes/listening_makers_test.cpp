// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Variables that replicas and merges make in runs to which a process listens, over three hosts with
// the replicas 0 and 1, 2, and 3 to 5. Replica r brings 1 + r: 18 without process 0 or 1, 6 without
// process 2. The numbers of replicas that take part are 4, 5 and 3.
#include "belfry/belfry.h"
#include "belfry/testing/asserts.h"
#include "processes/hosts.h"
#include "processes/listeners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace belfry::testing::listening_makers {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

double sum_without(int listener) { return listener == 2 ? 6 : 18; }

// Variables have equal numbers in all processes: process 1 gets the new value of a later variable.
void expect_equal_numbers(Strategy& strategy) {
  const auto next = strategy.mirrored_variable(0.0, {.aggregation = Aggregation::kSum});
  strategy.run([&](ReplicaContext& replica, double x) { replica.assign(next, x); },
               values_without(1));
  EXPECT_EQ(strategy.read(next), 18);
}

TEST(ListeningMakers, ReplicasMakeVariablesOfTheProcessesThatTakePart) {
  testing::asserts("SEM-237");
  for (const bool merges_first : {false, true}) {
    for (const int listener : {0, 1, 2}) {
      std::vector<int> calls(3);
      on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
        int& own_calls = calls[static_cast<std::size_t>(host.group().rank())];
        const auto found = strategy.run(
            [&](ReplicaContext& replica, double x) {
              if (merges_first) replica.all_reduce(ReduceOp::kSum, x);
              const auto weight = replica.strategy().mirrored_variable(
                  [&] {
                    ++own_calls;
                    return Tensor<double>::full({1}, 2);
                  },
                  {.aggregation = Aggregation::kSum});
              const auto count = replica.strategy().replica_local_variable(ReduceOp::kSum, 10.0);
              replica.assign_add(weight, Tensor<double>::full({1}, x));
              replica.assign_add(count, x);
              const double total = replica.merge_call(
                  [&](CrossReplicaContext& cross) { return cross.strategy().read(count); });
              return weight.on(replica).item() + 1000 * total;
            },
            values_without(listener));
        const double sum = sum_without(listener);
        const int replicas = listener == 0 ? 4 : listener == 1 ? 5 : 3;
        EXPECT_THAT(elements_of(found), Each(2 + sum + 1000 * (10 * replicas + sum)));
        expect_equal_numbers(strategy);
      });
      // In the lowest process that takes part.
      EXPECT_EQ(calls, listener == 0 ? std::vector<int>({0, 1, 0}) : std::vector<int>({1, 0, 0}));
    }
  }
}

TEST(ListeningMakers, MergesMakeVariables) {
  testing::asserts("SEM-237");
  for (const int listener : {0, 1, 2}) {
    on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host&) {
      merge_without(listener, strategy, [&](CrossReplicaContext& cross) {
        const auto weight = strategy.mirrored_variable(5.0);
        cross.update(weight, [](double& own) { own += 1; });
        EXPECT_EQ(strategy.read(weight), 6);
        EXPECT_THAT(elements_of(strategy.local_values(weight)), Each(6));
      });
      expect_equal_numbers(strategy);
    });
  }
}

TEST(ListeningMakers, TotalsAreSharedOutOverTheProcessesThatTookPart) {
  testing::asserts("SEM-237");
  const std::vector<std::vector<int>> shares{{5, 5, 5, 5}, {4, 4, 4, 4, 4}, {7, 7, 6}};
  for (const int listener : {0, 1, 2}) {
    std::vector<std::vector<int>> found(3);
    on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
      std::vector<int>& divided = found[static_cast<std::size_t>(host.group().rank())];
      merge_without(listener, strategy, [&](CrossReplicaContext& cross) {
        const auto count = strategy.replica_local_variable(ReduceOp::kSum, 1);
        cross.assign_total(count, 20, SumSplit::kDivide);
        divided = elements_of(strategy.local_values(count));
        EXPECT_EQ(strategy.read(count), 20);
        cross.assign_total(count, 9);
        EXPECT_EQ(strategy.read(count), 9);
      });
    });
    std::vector<int> all;
    for (const std::vector<int>& own : found) all.insert(all.end(), own.begin(), own.end());
    EXPECT_EQ(all, shares[static_cast<std::size_t>(listener)]);
  }
}

TEST(ListeningMakers, OtherProcessesMayListenLater) {
  testing::asserts("SEM-237");
  // Process 0 listens when the variable is made, and process 1 when the variable is used: without
  // the replicas 0 and 1, which have no component.
  on_hosts([](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
    std::optional<ReplicaLocalVariable<double>> count;
    merge_without(0, strategy, [&](CrossReplicaContext&) {
      count = strategy.replica_local_variable(ReduceOp::kSum, 2.0);
    });
    EXPECT_EQ(count.has_value(), host.group().rank() != 0);
    std::vector<std::optional<double>> of_two(6);
    for (std::size_t id = 3; id < 6; ++id) of_two[id] = 1.0;
    strategy.run(
        [&](ReplicaContext& replica, double) {
          replica.merge_call([&](CrossReplicaContext& cross) {
            EXPECT_EQ(strategy.read(*count), 8);
            cross.update(*count, [](double& own) { own += 1; });
            EXPECT_EQ(strategy.read(*count), 12);
          });
        },
        PerReplica<double>::from(std::move(of_two)));
    if (count) {
      EXPECT_THAT(elements_of(strategy.local_values(*count)), Each(3));
    }
  });
}

TEST(ListeningMakers, DifferentVariablesAreNotMade) {
  testing::asserts("SEM-237");
  for (const int listener : {0, 1, 2}) {
    on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
      merge_without(listener, strategy, [&](CrossReplicaContext&) {
        try {
          strategy.mirrored_variable(host.group().rank());
          ADD_FAILURE() << "nothing was thrown";
        } catch (const VariableMismatchError& error) {
          EXPECT_THAT(error.what(), AllOf(HasSubstr("BF-050"), HasSubstr("takes no part")));
        }
      });
      expect_equal_numbers(strategy);
    });
  }
}

TEST(ListeningMakers, AnInitialiserThatThrowsFailsTheRun) {
  testing::asserts("SEM-237");
  for (const int listener : {0, 1, 2}) {
    const int maker = listener == 0 ? 1 : 0;
    std::vector<std::string> texts(3);
    on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
      const int rank = host.group().rank();
      try {
        strategy.run(
            [&](ReplicaContext& replica, double) {
              replica.strategy().mirrored_variable(
                  [&]() -> double { throw std::runtime_error("made by " + std::to_string(rank)); });
            },
            values_without(listener));
      } catch (const std::exception& error) {
        texts[static_cast<std::size_t>(rank)] = error.what();
      }
      expect_equal_numbers(strategy);
    });
    const std::string text = "made by " + std::to_string(maker);
    EXPECT_THAT(texts, Each(HasSubstr(text)));
    EXPECT_EQ(texts[static_cast<std::size_t>(maker)], text);
  }
}

}  // namespace
}  // namespace belfry::testing::listening_makers
