// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The tests of a user's strategy, on simulated devices: docs/strategies.md.
#include "local_sgd_trained.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstddef>
#include <stdexcept>
#include <vector>

// [contracts]
#include <belfry/testing/contract_tests.h>
#include <belfry/testing/sim_factory.h>

const belfry::testing::StrategyOf<TrainedSgd> strategies("local SGD", {}, &TrainedSgd::mistake);
const belfry::testing::SimFactory backends;

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  belfry::testing::register_contract_tests("LocalSgd", strategies, backends);
  return RUN_ALL_TESTS();
}
// [contracts]

namespace {

// One step of a model: each replica learns, and then all have the mean if it is due.
void learn(std::vector<float>& model, const std::vector<int>& step, bool is_due) {
  float sum = 0.0F;
  for (std::size_t id = 0; id < model.size(); ++id) {
    model[id] += 0.125F * static_cast<float>(step[id]);
    sum = id == 0 ? model[id] : sum + model[id];
  }
  if (is_due) model.assign(model.size(), sum / static_cast<float>(model.size()));
}

}  // namespace

// The strategy's own rule: replicas differ between two means, and are equal after each.
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

// The same for whatever replicas learn, against a model that is made of plain numbers.
TEST(LocalSgd, LearnsWhatAModelOfPlainNumbersLearns) {
  EXPECT_TRUE(rc::check([] {
    const int replicas = *rc::gen::inRange(1, 6).as("replicas");
    const int between = *rc::gen::inRange(1, 5).as("steps between means");
    const auto steps = *rc::gen::container<std::vector<std::vector<int>>>(
                            rc::gen::container<std::vector<int>>(5, rc::gen::inRange(-99, 99)))
                            .as("what replicas learn in each step");
    belfry::sim::Backend backend{{.devices = replicas}};
    LocalSgdStrategy strategy{backend, {.order = belfry::ReductionOrder::kReplicaOrder}, between};
    const auto w = strategy.parameter(std::vector<float>{1.0F, 1.0F});
    const auto on_devices =
        strategy.parameter([] { return belfry::Tensor<float>::full({2}, 1.0F); });
    std::vector<float> model(static_cast<std::size_t>(replicas), 1.0F);
    int done = 0;
    for (const std::vector<int>& step : steps) {
      strategy.run([&](belfry::ReplicaContext& replica) {
        const auto id = static_cast<std::size_t>(replica.replica_id());
        const auto learned = 0.125F * static_cast<float>(step[id]);
        for (float& one : w.on(replica)) one += learned;
        on_devices.on(replica) = add(on_devices.on(replica), learned);
      });
      learn(model, step, ++done % between == 0);
      for (int id = 0; id < replicas; ++id) {
        const std::vector<float> wanted(2, model[static_cast<std::size_t>(id)]);
        RC_ASSERT(strategy.local_values(w)[id] == wanted);
        RC_ASSERT(strategy.local_values(on_devices)[id].to_host() == wanted);
      }
    }
    RC_ASSERT(strategy.means_taken() == done / between);
  }));
}

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
