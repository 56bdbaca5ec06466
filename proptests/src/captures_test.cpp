// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Merge functions that capture values of the host, and functions that only look like captures.
#include "belfry/testing/each_place.h"
#include "captures_support_test.h"

#include <array>
#include <utility>

namespace belfry::testing::captures_test {
namespace {

TEST(Captures, ThatCancelOutAreFoundAtTheFirst) {
  expect_found(
      [](MirroredStrategy& strategy) {
        const auto weight = strategy.mirrored_variable(0.0);
        strategy.run([&](ReplicaContext& replica) {
          const double gradient = gradient_of(replica);
          for (const double sign : {1.0, -1.0}) {
            replica.merge_call([&weight, gradient, sign](CrossReplicaContext& cross) {
              cross.update(weight, [&](double& w) { w += sign * gradient; });
            });
          }
        });
        return strategy.read(weight);
      },
      kFirstMerge);
}

TEST(Captures, ThatDifferOnOneReplicaAloneNameTheReplica) {
  at_each_place(3, [](int odd) {
    expect_found(
        [&](MirroredStrategy& strategy) {
          return strategy.run([&](ReplicaContext& replica) {
            const double rate = replica.replica_id() == odd ? 0.25 : 0.5;
            return replica.merge_call([rate](CrossReplicaContext&) { return rate; });
          });
        },
        kFirstMerge, odd == 0 ? 1 : odd);
  });
}

TEST(Captures, InFunctionsThatAMergeCallsAreFound) {
  expect_found(
      [](MirroredStrategy& strategy) {
        const std::vector<double> elements{1, 2, 3, 4};
        strategy.run([&](ReplicaContext& replica) {
          const double gradient = gradient_of(replica);
          return replica.merge_call([&, gradient](CrossReplicaContext& cross) {
            const auto scaled = cross.map(elements, [gradient](double e) { return e * gradient; });
            return cross.reduce_mapped(ReduceOp::kSum, scaled);
          });
        });
      },
      kFirstMerge);
  expect_found(
      [](MirroredStrategy& strategy) {
        strategy.run([&](ReplicaContext& replica) {
          const double gradient = gradient_of(replica);
          return replica.merge_call([&strategy, gradient](CrossReplicaContext&) {
            return strategy.run([gradient](ReplicaContext&) { return gradient; });
          });
        });
      },
      kFirstMerge);
}

// Momentum: the closures of a single replica run all merges, with the same state.
TEST(Captures, OfStateInALocalOfTheClosuresOwnAreNoFinding) {
  const auto training = [](int wrong_round) {
    return [wrong_round](MirroredStrategy& strategy) {
      const auto weight = strategy.mirrored_variable(1.0);
      strategy.run([&](ReplicaContext& replica) {
        double velocity = 0;
        for (int round = 1; round <= 5; ++round) {
          const double rate = round == wrong_round ? gradient_of(replica) : 0.5;
          replica.merge_call(
              [&](CrossReplicaContext& cross, const PerReplica<double>& gradients) {
                const double mean = cross.reduce(ReduceOp::kMean, gradients).value();
                velocity = 0.9 * velocity + mean;
                cross.update(weight, [&](double& w) { w -= rate * velocity; });
              },
              gradient_of(replica));
        }
      });
      return strategy.read(weight);
    };
  };
  expect_none(training(0));
  expect_found(training(4), "merge #4 of run 1");
}

struct Scaled {
  double scale = 1;
  double combine(double folded, double next) const { return folded + next; }
  double finalize(double folded, int /*replicas*/) const { return folded * scale; }
};

TEST(Captures, OfReductionsWithStateAreFoundIfItDiffers) {
  expect_none([](MirroredStrategy& strategy) {
    return strategy.run([](ReplicaContext& replica) {
      return replica.all_reduce(Scaled{2}, gradient_of(replica));
    });
  });
  expect_found(
      [](MirroredStrategy& strategy) {
        return strategy.run([](ReplicaContext& replica) {
          return replica.all_reduce(Scaled{gradient_of(replica)}, 1.0);
        });
      },
      kFirstMerge);
}

TEST(Captures, AsVariablesAndDistributedArgumentsAreFound) {
  expect_found(
      [](MirroredStrategy& strategy) {
        const std::array variables{strategy.mirrored_variable(1.0), strategy.mirrored_variable(2.0),
                                   strategy.mirrored_variable(3.0)};
        strategy.run([&](ReplicaContext& replica) {
          replica.merge_call(
              [](CrossReplicaContext& cross, const MirroredVariable<double>& own) {
                cross.update(own, [](double& w) { w += 1; });
              },
              variables[static_cast<std::size_t>(replica.replica_id())]);
        });
      },
      kFirstMerge);
  expect_found(
      [](MirroredStrategy& strategy) {
        strategy.run([&](ReplicaContext& replica) {
          const double own = gradient_of(replica);
          const PerReplica<double> values{own, own, own};
          return replica.merge_call(
              [](CrossReplicaContext& cross, const PerReplica<double>& taken) {
                return cross.reduce(ReduceOp::kSum, taken);
              },
              values);
        });
      },
      kFirstMerge);
}

TEST(Captures, AreNoneInVerbsWithoutAFunction) {
  expect_none([](MirroredStrategy& strategy) {
    const auto first = strategy.mirrored_variable(0.0, {.aggregation = Aggregation::kOnlyFirst});
    const auto mean = strategy.mirrored_variable(0.0, {.aggregation = Aggregation::kMean});
    return strategy.run([&](ReplicaContext& replica) {
      replica.assign(first, gradient_of(replica));
      replica.assign_add(mean, gradient_of(replica));
      const std::vector<double> own{gradient_of(replica)};
      return std::pair(replica.all_gather(own, Axis(0)), first.on(replica) + mean.on(replica));
    });
  });
}

TEST(Captures, OfMaskedRunsAreThoseOfReplicasThatTakePart) {
  expect_found(
      [](MirroredStrategy& strategy) {
        belfry::detail::ReplicaArray<double> components(2);
        components.emplace_back(1);
        components.emplace_back(3);
        const PerReplica<double> masked(std::move(components),
                                        belfry::detail::Participants(3, std::vector<int>{0, 2}));
        strategy.run(
            [](ReplicaContext& replica, double own) {
              return replica.merge_call([own](CrossReplicaContext&) { return own; });
            },
            masked);
      },
      kFirstMerge, 2);
}

}  // namespace
}  // namespace belfry::testing::captures_test
