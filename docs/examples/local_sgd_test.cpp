// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The tests of a user's strategy, on simulated devices: docs/strategies.md.
#include "local_sgd_strategy.h"

#include <gtest/gtest.h>

// [contracts]
#include <belfry/testing/contract_tests.h>
#include <belfry/testing/sim_factory.h>

const belfry::testing::StrategyOf<LocalSgdStrategy> strategies("local SGD");
const belfry::testing::SimFactory backends;

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  belfry::testing::register_contract_tests("LocalSgd", strategies, backends);
  return RUN_ALL_TESTS();
}
// [contracts]

// What is its own: between two means replicas differ, after each they are equal.
// [own]
TEST(LocalSgd, TakesTheMeanEveryFewSteps) {
  belfry::sim::Backend backend{{.devices = 3}};
  LocalSgdStrategy strategy{backend, {}, 2};
  const auto w = strategy.parameter(0.0);
  const auto step = [&](belfry::ReplicaContext& replica) {
    w.on(replica) += 1.0 + replica.replica_id();
  };
  strategy.run(step);
  EXPECT_EQ(strategy.local_values(w), (belfry::PerReplica<double>{1.0, 2.0, 3.0}));
  strategy.run(step);
  EXPECT_EQ(strategy.local_values(w), (belfry::PerReplica<double>{4.0, 4.0, 4.0}));
  EXPECT_EQ(strategy.means_taken(), 1);
}
// [own]

TEST(LocalSgd, CountsWhatAMergeStartsAsNoStep) {
  belfry::sim::Backend backend{{.devices = 2}};
  LocalSgdStrategy strategy{backend, {}, 2};
  strategy.run([](belfry::ReplicaContext& replica) {
    replica.merge_call(
        [](belfry::CrossReplicaContext& cross) { cross.run([](belfry::ReplicaContext&) {}); });
  });
  EXPECT_EQ(strategy.means_taken(), 0);
}

TEST(LocalSgd, TakesNoMeanAfterAFailure) {
  belfry::sim::Backend backend{{.devices = 2}};
  LocalSgdStrategy strategy{backend, {}, 1};
  EXPECT_THROW(
      strategy.run([](belfry::ReplicaContext&) { throw std::runtime_error("on purpose"); }),
      std::runtime_error);
  EXPECT_EQ(strategy.means_taken(), 0);
  EXPECT_THROW(LocalSgdStrategy(backend, {}, 0), std::invalid_argument);
}
