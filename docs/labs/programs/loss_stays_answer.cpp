// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Lab 1, the answer: docs/labs/loss_stays.md.
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>

#include <iomanip>
#include <iostream>
#include <random>

using namespace belfry;
namespace {

// [train]
constexpr double kTarget = 6;

/// Fits a weight to the target, on two replicas. The first weight is a random whole number from
/// 0 to 7. The seed selects the schedule alone.
void train(std::uint64_t schedule_seed) {
  sim::Backend backend{{.devices = 2, .seed = schedule_seed}};
  MirroredStrategy strategy{backend};
  std::minstd_rand random;  // In the same state at the start of every training.

  // The weight has the type of the draw: double, for the fractions of later steps.
  const auto weight = strategy.mirrored_variable([&] { return double(random() % 8); },
                                                 {.aggregation = Aggregation::kMean});

  for (int step = 1; step <= 4; ++step) {
    std::cout << "step " << step << ": weight " << strategy.read(weight);
    const PerReplica<double> losses = strategy.run([&](ReplicaContext& replica) {
      const double error = weight.on(replica) - kTarget;
      replica.assign_sub(weight, 0.5 * error);  // The mean of all replicas, on all replicas.
      return error * error;
    });
    std::cout << ", loss " << strategy.cross_replica().reduce(ReduceOp::kMean, losses).value();
    const PerReplica<double> now = strategy.local_values(weight);
    std::cout << ", then components " << now[0] << " and " << now[1] << '\n';
  }
}
// [train]

}  // namespace

int main() {
  std::cout << std::setprecision(10);
  for (const std::uint64_t seed : {1, 2}) {
    std::cout << "schedule of seed " << seed << '\n';
    train(seed);
  }
}
