// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Training on replicas, on the schedules of the simulator.
#include "training.h"

#include "numbers.h"
#include "reference.h"
#include <belfry/sim/backend.h>
#include <belfry/testing/arbitrary.h>
#include <belfry/testing/compare_functions.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

namespace own_training {
namespace {

constexpr Layout kSmall{.inputs = 5, .hidden = 4, .classes = 3};

// Replica `owners[i]`, modulo the number of replicas, gets example i.
Shares shares_of(const std::vector<int>& owners, int replicas) {
  std::vector<std::optional<std::vector<int>>> shares(static_cast<std::size_t>(replicas),
                                                      std::vector<int>());
  for (std::size_t i = 0; i < owners.size(); ++i) {
    shares[static_cast<std::size_t>(owners[i] % replicas)]->push_back(static_cast<int>(i));
  }
  return Shares::from(std::move(shares));
}

std::vector<int> all_rows(const Examples& data) {
  std::vector<int> rows(data.labels.size());
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

bool equal(const HostWeights& a, const HostWeights& b) {
  return HostWeights::members(a) == HostWeights::members(b);
}

// A training with a strategy and a backend of its own.
struct Replicas {
  Replicas(const belfry::sim::Options& options, const Examples& data,
           const TrainingOptions& training_options)
      : backend(options), strategy(backend), training(strategy, data, training_options) {}

  belfry::sim::Backend backend;
  belfry::MirroredStrategy strategy;
  Training training;
};

RC_GTEST_PROP(OwnTraining, StartsEqualOnAllReplicas,
              (const belfry::sim::Options& options, std::uint64_t seed)) {
  const Examples none{kSmall.inputs, {}, {}};
  Replicas many(options, none, {.layout = kSmall, .seed = seed});
  Replicas one({.devices = 1}, none, {.layout = kSmall, .seed = seed});
  const HostWeights start = one.training.weights()[0];
  for (const HostWeights& weights : many.training.weights()) RC_ASSERT(equal(weights, start));
  // The limit of the uniform numbers is sqrt(6 / 5) = 1.095... for the hidden layer.
  for (const float weight : start.hidden) RC_ASSERT(weight * weight <= 1.2001F);
  for (const float weight : start.output) RC_ASSERT(weight * weight <= 1.5001F);
  for (const float weight : start.hidden_bias) RC_ASSERT(weight == 0);
  RC_ASSERT(start.hidden[0] != start.hidden[1]);
}

// Both trainings stay in the balls of the reference: the bound of their difference is a diameter.
// After a step, a number before a rectification may have a ball with 0 inside. Rounding then
// decides between two gradients, and the balls of the next weights are wide. The comparison ends
// there.
// [equal]
RC_GTEST_PROP(OwnTraining, NReplicasEqualOne, (const belfry::sim::Options& options)) {
  const auto owners = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 64)).as("owners");
  const auto seed = *rc::gen::inRange(0U, 1U << 20).as("seed of the numbers");
  const Examples data =
      drawn_examples(static_cast<int>(owners.size()), kSmall.inputs, kSmall.classes, seed);
  const TrainingOptions settings{.layout = kSmall, .seed = seed, .rate = 0.1F};
  Replicas many(options, data, settings);
  Replicas one({.devices = 1}, data, settings);
  const Shares shares = shares_of(owners, options.devices);

  BallWeights weights = exact(one.training.weights()[0]);
  for (int step = 0; step < 3 && widest(weights) < 0x1p-12; ++step) {
    const auto expected = expected_step(weights, data, all_rows(data), settings.rate);
    const double loss = many.training.step(shares);
    const double loss_of_one = one.training.step({all_rows(data)});
    RC_ASSERT(expected.loss.contains(loss));
    RC_ASSERT(expected.loss.contains(loss_of_one));
    weights = expected.weights;

    const std::vector<HostWeights> replicas = many.training.weights();
    RC_ASSERT(worst(weights, one.training.weights()[0]) <= 1);
    RC_ASSERT(worst(weights, replicas[0]) <= 1);
    for (const HostWeights& replica : replicas) RC_ASSERT(equal(replica, replicas[0]));
  }
}
// [equal]

// The bound is narrow enough to find a lost share.
TEST(OwnTraining, ALostShareIsOutsideTheBound) {
  const Examples data = drawn_examples(8, kSmall.inputs, kSmall.classes, 1);
  Replicas many({.devices = 4}, data, {.layout = kSmall, .rate = 0.1F});
  const BallWeights start = exact(many.training.weights()[0]);
  many.training.step(shares_of({0, 1, 2, 3, 0, 1, 2, 3}, 4));
  const HostWeights after = many.training.weights()[0];
  EXPECT_LE(worst(expected_step(start, data, {all_rows(data)}, 0.1F).weights, after), 1);
  const std::vector<int> without_replica_3{0, 1, 2, 4, 5, 6};
  EXPECT_GT(worst(expected_step(start, data, without_replica_3, 0.1F).weights, after), 1000);
}

// A merge runs the functions of replica 0. The functions of another replica give the same step.
TEST(OwnTraining, MergesCaptureNothingOfTheirReplica) {
  const Examples data = drawn_examples(8, kSmall.inputs, kSmall.classes, 1);
  const Shares shares = shares_of({0, 1, 2, 2, 0, 1, 2, 2}, 3);
  EXPECT_NO_THROW(
      belfry::testing::compare_functions({.devices = 3}, [&](belfry::sim::Backend& backend) {
        belfry::MirroredStrategy strategy(backend);
        return Training(strategy, data, {.layout = kSmall}).step(shares);
      }));
}

// Weights of 0 give equal shares to all classes: a loss of log 3. The biases decide the answers.
TEST(OwnTraining, CountsTheRightAnswers) {
  const Examples data{kSmall.inputs, numbers(7 * kSmall.inputs, 1), {0, 1, 2, 1, 1, 0, 1}};
  Replicas replicas({.devices = 3}, data, {.layout = kSmall});
  const Shares shares = shares_of({0, 1, 1, 1, 0, 0, 1}, 3);
  HostWeights zero{
      std::vector<float>(20), std::vector<float>(4), std::vector<float>(12), {0, 0, 0}};
  replicas.training.assign(zero);
  EXPECT_NEAR(replicas.training.step(shares), 1.0986122887, 1e-6);
  zero.output_bias = {0, 2, 1};
  replicas.training.assign(zero);
  EXPECT_EQ(replicas.training.count_correct(shares), 4);
  zero.output_bias = {3, 2, 1};
  replicas.training.assign(zero);
  EXPECT_EQ(replicas.training.count_correct(shares), 2);
}

TEST(OwnTraining, AStepWithoutExamplesLeavesTheWeights) {
  const Examples data = drawn_examples(2, kSmall.inputs, kSmall.classes, 1);
  Replicas replicas({.devices = 2}, data, {.layout = kSmall});
  const auto before = replicas.training.weights();
  EXPECT_EQ(replicas.training.step(shares_of({}, 2)), 0);
  EXPECT_TRUE(equal(replicas.training.weights()[1], before[0]));
}

}  // namespace
}  // namespace own_training
