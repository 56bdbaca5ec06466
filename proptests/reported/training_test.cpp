// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Reports about training steps: clipping, accumulation, averages of weights, counters and masks.
#include "belfry/tensor_ops.h"
#include "belfry/testing/each_place.h"
#include "reported.h"

#include <gmock/gmock.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry::reported_test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Floats = std::vector<float>;

struct Gradients {
  Tensor<float> kernel, bias;
  static auto members(auto& self) { return std::tie(self.kernel, self.bias); }
};

// The gradients with a norm of at most 1.
Gradients clipped(const Gradients& all) {
  const auto norm =
      sqrt(axis_sum(square(all.kernel), Axis(0)) + axis_sum(square(all.bias), Axis(0)));
  const auto factor = minimum(reciprocal(norm), 1.0F);
  return {all.kernel * factor, all.bias * factor};
}

// The mean of (8, 0), 5 and (0, 0), -5 is (4, 0), 0. Clipped to (1, 0), 0. Clipped by each replica
// first, the bias would stay: another direction.
TEST_P(Reported, GradientsAreClippedAfterTheirMean) {
  sim::Backend backend{on(2)};
  MirroredStrategy strategy{backend};
  for (const bool in_merge : {false, true}) {
    const auto weights = strategy.mirrored_variable(
        [] { return Gradients{Tensor<float>::zeros({2}), Tensor<float>::zeros({1})}; });
    strategy.run([&](ReplicaContext& replica) {
      const float sign = replica.replica_id() == 0 ? 1 : -1;
      Gradients own{Tensor<float>::from({2}, {4 + 4 * sign, 0}),
                    Tensor<float>::from({1}, {5 * sign})};
      if (!in_merge) own = clipped(replica.all_reduce(ReduceOp::kMean, own));
      replica.merge_call(
          [&](CrossReplicaContext& cross, const PerReplica<Gradients>& all) {
            const auto subtract = [in_merge](Gradients& old, const Gradients& mean) {
              const Gradients by = in_merge ? clipped(mean) : mean;
              subtract_from(old.kernel, by.kernel);
              subtract_from(old.bias, by.bias);
            };
            cross.update(weights, subtract, cross.reduce(ReduceOp::kMean, all));
          },
          own);
    });
    for (const Gradients& each : strategy.local_values(weights)) {
      EXPECT_EQ(each.kernel.to_host(), (Floats{-1, 0}));
      EXPECT_EQ(each.bias.to_host(), Floats{0});
    }
  }
}

// Gradients and tokens of five steps, two of which make an update: 18 / 9, 4 / 2, and 6 / 3 for the
// last step alone. The mean of means would be another: 3 for the first update.
TEST_P(Reported, AccumulatedGradientsAreDividedByTheTokensOfAllReplicas) {
  const std::vector<std::array<std::pair<double, double>, 2>> steps{{{{8, 2}, {3, 3}}},
                                                                    {{{7, 4}, {0, 0}}},
                                                                    {{{4, 1}, {0, 1}}},
                                                                    {{{0, 0}, {0, 0}}},
                                                                    {{{0, 0}, {6, 3}}}};
  sim::Backend backend{on(2)};
  MirroredStrategy strategy{backend};
  const Aggregation first = Aggregation::kOnlyFirst;
  const auto weight = strategy.mirrored_variable(0.0, {.name = "weight", .aggregation = first});
  const auto updates = strategy.mirrored_variable(0, {.name = "updates", .aggregation = first});
  const auto sum = strategy.replica_local_variable(ReduceOp::kSum, 0.0, {.name = "sum"});
  const auto tokens = strategy.replica_local_variable(ReduceOp::kSum, 0.0, {.name = "tokens"});
  strategy.run([&](ReplicaContext& replica) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const auto [gradient, count] = steps[i][static_cast<std::size_t>(replica.replica_id())];
      sum.on(replica) += gradient;
      tokens.on(replica) += count;
      if (i % 2 == 0 && i + 1 < steps.size()) continue;
      const std::pair<double, double> own(sum.on(replica), tokens.on(replica));
      const auto [all, of_all] = replica.all_reduce(ReduceOp::kSum, own);
      replica.assign_sub(weight, all / of_all);
      replica.assign_add(updates, 1);
      sum.on(replica) = 0;
      tokens.on(replica) = 0;
    }
  });
  EXPECT_EQ(strategy.read(weight), -(2 + 2 + 2));
  EXPECT_EQ(strategy.read(updates), 3);
}

// Each update counts once, not once a replica.
TEST_P(Reported, CountersOfUpdatesCountUpdates) {
  const auto updates =
      strategy_.mirrored_variable(0, {.name = "updates", .aggregation = Aggregation::kOnlyFirst});
  const auto replicas =
      strategy_.mirrored_variable(0, {.name = "replicas", .aggregation = Aggregation::kSum});
  const auto none = strategy_.mirrored_variable(0, {.name = "none"});
  for (int i = 0; i < 10; ++i) {
    strategy_.run([&](ReplicaContext& replica) {
      replica.assign_add(updates, 1);
      replica.assign_add(replicas, 1);
    });
  }
  EXPECT_EQ(strategy_.read(updates), 10);
  EXPECT_EQ(strategy_.read(replicas), 30);
  EXPECT_THAT(belfry::testing::text_of_error<Error>([&] {
                strategy_.mirrored_variable(0, {.name = "m", .aggregation = Aggregation::kMean});
              }),
              HasSubstr("BF-035"));
  EXPECT_THAT(error_of([&](ReplicaContext& replica) { replica.assign_add(none, 1); }),
              AllOf(HasSubstr("BF-036"), HasSubstr("none")));
}

// Weights of 30 lose 3, 6 and 9 in each of two steps. A replica skips its second step, and takes
// part in the average.
TEST_P(Reported, AverageOfWeightsIncludesAReplicaThatSkippedAStep) {
  testing::at_each_place(3, [&](int skipping) {
    const auto weight = strategy_.replica_local_variable(ReduceOp::kMean, 30.0);
    strategy_.run([&](ReplicaContext& replica) {
      const double loses = 3 * replica.replica_id() + 3;
      weight.on(replica) -= loses;
      if (replica.replica_id() != skipping) weight.on(replica) -= loses;
      weight.on(replica) =
          replica.all_reduce(ReduceOp::kMean, static_cast<double>(weight.on(replica)));
    });
    // The losses are 36 together, less the skipped one.
    EXPECT_THAT(strategy_.local_values(weight), Each(30 - (36 - (3 * skipping + 3)) / 3.0));
  });
}

// The weight is 1, 2 and 3 after three updates of two steps each: the average is 0.5, 1.25, 2.125.
// The statistics of the replicas are 1, 2 and 3 in each step: the average of means is 1, 1.5, 1.75.
TEST_P(Reported, MovingAveragesChangeOnceAnUpdate) {
  const auto zeros = [] { return Tensor<float>::zeros({2}); };
  const auto weight = strategy_.mirrored_variable(zeros),
             average = strategy_.mirrored_variable(zeros);
  const auto statistics = strategy_.replica_local_variable(ReduceOp::kMean, 0.0);
  const auto of_statistics = strategy_.mirrored_variable(0.0);
  for (int update = 0; update < 3; ++update) {
    strategy_.run([&](ReplicaContext& replica) {
      for (int step = 0; step < 2; ++step) statistics.on(replica) = 1.0 + replica.replica_id();
      replica.merge_call([&](CrossReplicaContext& cross) {
        cross.update(weight, [](Tensor<float>& old) { old = old + 1.0F; });
        const auto mix = [](Tensor<float>& old, const Tensor<float>& now) {
          old = old * 0.5F + now * 0.5F;
        };
        cross.update(average, mix, weight);
      });
    });
    const double mean = strategy_.read(statistics);
    strategy_.cross_replica().update(of_statistics,
                                     [mean](double& old) { old = 0.5 * old + 0.5 * mean; });
  }
  for (const auto& each : strategy_.local_values(average)) {
    EXPECT_EQ(each.to_host(), (Floats{2.125F, 2.125F}));
  }
  EXPECT_EQ(strategy_.read(of_statistics), 1.75);
}

// A single replica assigns to a weight of all: refused. The value of replica 0 reaches all, if all
// assign, or if the cross-replica context assigns.
TEST_P(Reported, AnAssignmentByOneReplicaAloneIsRefused) {
  const auto weight =
      strategy_.mirrored_variable(1.0, {.name = "weight", .aggregation = Aggregation::kOnlyFirst});
  testing::at_each_place(3, [&](int odd) {
    EXPECT_THAT(error_of([&](ReplicaContext& replica) {
                  if (replica.replica_id() == odd) replica.assign(weight, 5.0);
                }),
                HasSubstr("BF-010"));
    EXPECT_EQ(strategy_.read(weight), 1);
  });
  const auto seen = strategy_.run([&](ReplicaContext& replica) {
    replica.assign(weight, 5.0 + replica.replica_id());
    return static_cast<double>(weight.on(replica));
  });
  EXPECT_THAT(seen, Each(5));
  const auto local =
      strategy_.replica_local_variable(Aggregation::kOnlyFirst, std::vector{0.0, 0.0});
  strategy_.run([&](ReplicaContext& replica) {
    if (replica.replica_id() == 0) local.on(replica) = {0.25, 0.75};
  });
  strategy_.cross_replica().assign_each(local, strategy_.read(local));
  EXPECT_THAT(strategy_.local_values(local), Each(ElementsAre(0.25, 0.75)));
}

// Two replicas of a group of a model drop the same elements, two groups others.
TEST_P(Reported, MasksAreEqualInAGroupAndDifferInTheNextStep) {
  sim::Backend backend{on(4)};
  MirroredStrategy strategy{backend};
  const auto step = strategy.mirrored_variable(
      std::uint64_t{0}, {.name = "step", .aggregation = Aggregation::kOnlyFirst});
  std::vector<Floats> all;
  for (int i = 0; i < 2; ++i) {
    const auto masks = strategy.run([&](ReplicaContext& replica) {
      const auto k = static_cast<std::uint64_t>(replica.replica_id());
      const std::uint64_t position = 1000 * static_cast<std::uint64_t>(step.on(replica));
      replica.assign_add(step, std::uint64_t{1});
      return std::pair(random_uniform<float>({16}, 100 + k, position).to_host(),
                       random_uniform<float>({16}, 200 + k / 2, position).to_host());
    });
    for (int a = 0; a < 4; ++a) {
      all.push_back(masks[a].first);
      if (a % 2 == 0) all.push_back(masks[a].second);
      EXPECT_EQ(masks[a].second, masks[a - a % 2].second);
    }
  }
  for (std::size_t a = 0; a < all.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) EXPECT_NE(all[a], all[b]) << a << " and " << b;
  }
}

// The state of a generator that every replica advances needs a rule, or is the replica's own.
TEST_P(Reported, StateOfRandomNumbersIsOfEachReplica) {
  using State = std::vector<std::uint64_t>;
  const auto shared = strategy_.mirrored_variable(State{7, 0}, {.name = "shared"});
  EXPECT_THAT(error_of([&](ReplicaContext& replica) { replica.assign(shared, State{7, 1}); }),
              AllOf(HasSubstr("BF-036"), HasSubstr("shared"), HasSubstr("aggregation")));
  const auto own = strategy_.replica_local_variable(Aggregation::kOnlyFirst, State{7, 0});
  strategy_.run([&](ReplicaContext& replica) {
    own.on(replica)[0] += static_cast<std::uint64_t>(replica.replica_id());
    own.on(replica)[1] += 1;
  });
  EXPECT_THAT(strategy_.local_values(own), ElementsAre(State{7, 1}, State{8, 1}, State{9, 1}));
}

// The batch of one replica does not fit. The others have the gradients 1, 2 and 4.
TEST_P(Reported, AReplicaWithoutMemoryTakesPartWithNothing) {
  sim::Options options = on(3);
  options.memory_limit_bytes = 1 << 16;
  sim::Backend backend{options};
  MirroredStrategy strategy{backend};
  testing::at_each_place(3, [&](int odd) {
    const auto gradient = [odd](const ReplicaContext& replica) {
      const std::int64_t size = replica.replica_id() == odd ? 1 << 20 : 4;
      const auto value = static_cast<float>(1 << replica.replica_id());
      return std::pair<double, double>(Tensor<float>::full({size}, value).to_host()[0], 1);
    };
    const auto tried = [&](const ReplicaContext& replica) {
      try {
        return gradient(replica);
      } catch (const DeviceError&) {
        return std::pair<double, double>(0, 0);
      }
    };
    const auto sums = strategy.run([&](ReplicaContext& replica) {
      return replica.all_reduce(ReduceOp::kSum, tried(replica));
    });
    EXPECT_THAT(sums, Each(std::pair<double, double>(7 - (1 << odd), 2)));
    EXPECT_THAT(belfry::testing::text_of_error<Error>([&] {
                  strategy.run([&](ReplicaContext& replica) {
                    const auto own = tried(replica);
                    return own.second == 0 ? own : replica.all_reduce(ReduceOp::kSum, own);
                  });
                }),
                HasSubstr("BF-010"));
    EXPECT_THAT(belfry::testing::text_of_error<Error>([&] {
                  strategy.run([&](ReplicaContext& replica) {
                    return replica.all_reduce(ReduceOp::kSum, gradient(replica));
                  });
                }),
                AllOf(HasSubstr("BF-060"), HasSubstr("replica " + std::to_string(odd))));
  });
}

}  // namespace
}  // namespace belfry::reported_test
