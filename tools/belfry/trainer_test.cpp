// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "trainer.h"

#include "belfry/backend/host_backend.h"
#include "belfry/cuda/backend.h"
#include "belfry/sim/backend.h"
#include "shuffle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace belfry::demo::trainer_test {
namespace {

class Training : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    digits_ = std::make_unique<Digits>(read_digits(BELFRY_DEMO_DATA));
  }
  static void TearDownTestSuite() { digits_.reset(); }

  static std::unique_ptr<Backend> simulator(int devices, std::uint64_t seed = 1,
                                            sim::Carrier carrier = sim::Carrier::kFiber) {
    return std::make_unique<sim::Backend>(
        sim::Options{.devices = devices, .carrier = carrier, .seed = seed});
  }

  struct Result {
    double accuracy = 0;
    std::uint64_t digest = 0;
    int outside = 0;  // Steps beyond their bounds.
  };

  // The training of the command: shuffled batches of 64, then a judgement of the held-out images.
  static Result train(std::unique_ptr<Backend> backend, std::uint64_t seed, int epochs) {
    MirroredStrategy strategy(*backend);
    Trainer trainer(strategy, *digits_, {.seed = seed});
    const Split parts = split(digits_->count(), seed);
    Result result;
    for (int epoch = 1; epoch <= epochs; ++epoch) {
      std::vector<int> rows;
      for (const int place : shuffled(static_cast<int>(parts.training.size()), seed,
                                      static_cast<std::uint64_t>(epoch))) {
        rows.push_back(parts.training[static_cast<std::size_t>(place)]);
      }
      for (std::size_t first = 0; first < rows.size(); first += 64) {
        const auto size = std::min<std::size_t>(64, rows.size() - first);
        const StepReport step = trainer.step(std::span<const int>(rows).subspan(first, size));
        EXPECT_TRUE(step.finite);
        result.outside += step.within_bounds() ? 0 : 1;
      }
    }
    result.accuracy = static_cast<double>(trainer.count_correct(parts.held_out)) /
                      static_cast<double>(parts.held_out.size());
    result.digest = trainer.digest();
    return result;
  }

  static inline std::unique_ptr<Digits> digits_;
};

// The accuracies in the pages: 96 % with the default seed of the demo, and 94 % with every seed
// from 1 to 60; 41 is the worst.
TEST_F(Training, ReachesTheAccuracyThatThePagesSay) {
  const Result usual = train(simulator(4, 1), 1, 20);
  EXPECT_GE(usual.accuracy, 0.96);
  EXPECT_EQ(usual.outside, 0);
  const Result worst = train(simulator(4, 41), 41, 20);
  EXPECT_GE(worst.accuracy, 0.94);
  EXPECT_LT(worst.accuracy, 0.95) << "the pages may promise more";
  EXPECT_EQ(worst.outside, 0);
}

TEST_F(Training, HasTheSameBitsOnEveryBackendAndCarrierInEveryOrder) {
  const Result fibers = train(simulator(4, 5), 7, 2);
  EXPECT_EQ(train(simulator(4, 5), 7, 2).digest, fibers.digest);
  EXPECT_EQ(train(simulator(4, 6), 7, 2).digest, fibers.digest) << "another schedule";
  EXPECT_EQ(train(simulator(4, 5, sim::Carrier::kBaton), 7, 2).digest, fibers.digest);
  EXPECT_EQ(train(std::make_unique<HostBackend>(4), 7, 2).digest, fibers.digest);
  EXPECT_NE(train(simulator(4, 5), 8, 2).digest, fibers.digest) << "another seed";
}

// Replicas that share a GPU are combined in replica order, as on the simulator. Replicas on
// separate GPUs are combined by NCCL, in its order, unless the strategy asks for replica order.
TEST_F(Training, HasTheSimulatorsBitsOnTheHostHalfOfCuda) {
  const auto train_three_steps = [](Backend& backend, const StrategyOptions& options) {
    MirroredStrategy strategy(backend, options);
    Trainer trainer(strategy, *digits_, {.seed = 7});
    std::vector<int> rows(64);
    std::iota(rows.begin(), rows.end(), 0);
    for (int step = 0; step < 3; ++step) EXPECT_TRUE(trainer.step(rows).within_bounds());
    return trainer.digest();
  };
  const std::uint64_t expected = train_three_steps(*simulator(4), {});

  cuda::Backend shared{cuda::Options{.devices = {0, 0, 0, 0}}};
  EXPECT_EQ(train_three_steps(shared, {}), expected);
  EXPECT_GT(shared.statistics().kernel_launches, 0U);
  EXPECT_GT(shared.statistics().local_collectives, 0U);

  cuda::Backend ordered{cuda::Options::fit(4)};
  EXPECT_EQ(train_three_steps(ordered, {.order = ReductionOrder::kReplicaOrder}), expected);

  cuda::Backend spread{cuda::Options::fit(4)};
  train_three_steps(spread, {});
  EXPECT_GT(spread.statistics().nccl_collectives, 0U);
}

// The gradient is the mean over the examples, not over the replicas' means: shares of any size,
// even empty shares, stay within the bound of a single device.
TEST_F(Training, WeighsUnevenShares) {
  for (const int replicas : {1, 2, 3, 5, 8}) {
    const auto backend = simulator(replicas);
    MirroredStrategy strategy(*backend);
    Trainer trainer(strategy, *digits_, {});
    for (const int examples : {1, 2, 7, 30, 64}) {
      std::vector<int> rows(static_cast<std::size_t>(examples));
      std::iota(rows.begin(), rows.end(), 100);
      const StepReport step = trainer.step(rows);
      EXPECT_TRUE(step.within_bounds()) << replicas << " replicas, " << examples << " examples";
    }
  }
}

// The planted fault: a bound that holds with the fault would be no check.
TEST_F(Training, FindsADroppedGradient) {
  for (const int dropped : {0, 1, 3}) {
    const auto backend = simulator(4);
    MirroredStrategy strategy(*backend);
    Trainer trainer(strategy, *digits_, {.dropped_replica = dropped});
    std::vector<int> rows(64);
    std::iota(rows.begin(), rows.end(), 0);
    const StepReport step = trainer.step(rows);
    EXPECT_FALSE(step.within_bounds());
    EXPECT_GT(step.worst_gradient, 1000) << dropped;
    EXPECT_GT(step.worst_weight, 1000) << dropped;
  }
}

TEST_F(Training, TellsNumbersThatAreNoLongerFinite) {
  const auto backend = simulator(2);
  MirroredStrategy strategy(*backend);
  Trainer trainer(strategy, *digits_, {.rate = 1e38F});
  std::vector<int> rows(10);
  std::iota(rows.begin(), rows.end(), 0);
  bool finite = true;
  for (int step = 0; step < 3; ++step) finite = finite && trainer.step(rows).finite;
  EXPECT_FALSE(finite);
}

TEST_F(Training, StartsAtTheLossOfAGuess) {
  // Before the first step the loss is near the loss of a guess, log 10 = 2.3. The first weights
  // come from `initial_weights`: uniform within sqrt(6 / 64), biases 0.
  const auto backend = simulator(2);
  MirroredStrategy strategy(*backend);
  Trainer trainer(strategy, *digits_, {});
  const auto weights = trainer.weights();
  ASSERT_EQ(weights.size(), 4810U);
  const float limit = 0.30619F;  // Rounded up.
  EXPECT_LE(*std::max_element(weights.begin(), weights.end()), limit);
  EXPECT_GE(*std::min_element(weights.begin(), weights.end()), -limit);
  EXPECT_EQ(std::count(weights.begin(), weights.end(), 0.0F), 64 + 10);
  std::vector<int> rows(100);
  std::iota(rows.begin(), rows.end(), 0);
  EXPECT_NEAR(trainer.step(rows).loss, 2.5, 1.0);
}

}  // namespace
}  // namespace belfry::demo::trainer_test
