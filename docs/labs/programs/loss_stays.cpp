// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Lab 1, the starter: docs/labs/loss_stays.md.
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
void train(std::uint64_t schedule_seed, bool components) {
  sim::Backend backend{{.devices = 2, .seed = schedule_seed}};
  MirroredStrategy strategy{backend};
  std::minstd_rand random;  // In the same state at the start of every training.

  const auto weight = strategy.replica_local_variable(ReduceOp::kMean, 0.0);
  strategy.run([&](ReplicaContext& replica) { weight.on(replica) = random() % 8; });

  for (int step = 1; step <= 4; ++step) {
    std::cout << "step " << step << ": weight " << strategy.read(weight);
    const PerReplica<double> losses = strategy.run([&](ReplicaContext& replica) {
      const double error = weight.on(replica) - kTarget;
      const double gradient = replica.all_reduce(ReduceOp::kMean, error);
      weight.on(replica) -= 0.5 * gradient;
      return error * error;
    });
    std::cout << ", loss " << strategy.cross_replica().reduce(ReduceOp::kMean, losses).value();
    if (components) {
      const PerReplica<double> now = strategy.local_values(weight);
      std::cout << ", then components " << now[0] << " and " << now[1];
    }
    std::cout << '\n';
  }
}
// [train]

}  // namespace

int main(int argc, char**) {
  std::cout << std::setprecision(10);
  try {
    if (argc == 1) {
      train(1, false);
      return 0;
    }
    // With any argument: also the components, under two schedules.
    for (const std::uint64_t seed : {1, 2}) {
      std::cout << "schedule of seed " << seed << '\n';
      train(seed, true);
    }
  } catch (const Error& error) {
    std::cout << '\n' << error.what() << '\n';
    return 1;
  }
  return 0;
}
