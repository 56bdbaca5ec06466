// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Lab 1, other changes of the starter: docs/labs/loss_stays.md.
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>

#include <iomanip>
#include <iostream>
#include <random>

using namespace belfry;
namespace {

constexpr double kTarget = 6;

/// Runs a part on two replicas, and prints the name and the output or error of the part.
template <class Part>
void print(const char* name, const Part& part) {
  std::cout << "== " << name << '\n';
  sim::Backend backend{{.devices = 2, .seed = 1}};
  MirroredStrategy strategy{backend};
  try {
    part(strategy);
  } catch (const Error& error) {
    std::cout << error.what() << '\n';
  }
}

/// Makes the weight of the starter, which each replica draws.
auto drawn_weight(Strategy& strategy) {
  std::minstd_rand random;
  const auto weight = strategy.replica_local_variable(ReduceOp::kMean, 0.0);
  strategy.run([&](ReplicaContext& replica) { weight.on(replica) = random() % 8; });
  return weight;
}

/// Trains with a function that takes the step of a replica and returns the loss of the replica.
template <class Weight, class Step>
void train(Strategy& strategy, const Weight& weight, const Step& take_step, int steps = 4) {
  for (int step = 1; step <= steps; ++step) {
    const double before = strategy.read(weight);
    const PerReplica<double> losses = strategy.run(take_step);
    const PerReplica<double> now = strategy.local_values(weight);
    std::cout << "step " << step << ": weight " << before << ", loss "
              << strategy.cross_replica().reduce(ReduceOp::kMean, losses).value()
              << ", then components " << now[0] << " and " << now[1] << '\n';
  }
}

void own_errors(Strategy& strategy) {
  const auto weight = drawn_weight(strategy);
  train(strategy, weight, [&](ReplicaContext& replica) {
    // [own_errors]
    const double error = weight.on(replica) - kTarget;
    weight.on(replica) -= 0.5 * error;
    return error * error;
    // [own_errors]
  });
}

/// The targets are 5 on replica 0 and 7 on replica 1, and the mean target is 6.
void own_targets(Strategy& strategy) {
  const auto weight = drawn_weight(strategy);
  train(strategy, weight, [&](ReplicaContext& replica) {
    const double error = weight.on(replica) - (5 + 2 * replica.replica_id());
    weight.on(replica) -= 0.5 * error;
    return error * error;
  });
}

/// Takes the steps of the starter, with the sum or the mean of the errors.
void starter(Strategy& strategy, ReduceOp op, int steps) {
  const auto weight = drawn_weight(strategy);
  train(
      strategy, weight,
      [&](ReplicaContext& replica) {
        const double error = weight.on(replica) - kTarget;
        weight.on(replica) -= 0.5 * replica.all_reduce(op, error);
        return error * error;
      },
      steps);
}

void mean_in_loss(Strategy& strategy) {
  const auto weight = drawn_weight(strategy);
  train(strategy, weight, [&](ReplicaContext& replica) {
    const double error = replica.all_reduce(ReduceOp::kMean, weight.on(replica) - kTarget);
    weight.on(replica) -= 0.5 * error;
    return error * error;
  });
}

void no_aggregation(Strategy& strategy) {
  std::minstd_rand random;
  const auto weight = strategy.mirrored_variable([&] { return double(random() % 8); });
  train(strategy, weight, [&](ReplicaContext& replica) {
    const double error = weight.on(replica) - kTarget;
    replica.assign_sub(weight, 0.5 * error);
    return error * error;
  });
}

/// Keeps the replica-local weight, with one draw: in the initialiser, or on the host.
void one_draw(Strategy& strategy, bool on_host) {
  std::minstd_rand random;
  const auto draw = [&] { return double(random() % 8); };
  const auto weight = on_host ? strategy.replica_local_variable(ReduceOp::kMean, draw())
                              : strategy.replica_local_variable(ReduceOp::kMean, draw);
  train(strategy, weight, [&](ReplicaContext& replica) {
    const double error = weight.on(replica) - kTarget;
    weight.on(replica) -= 0.5 * replica.all_reduce(ReduceOp::kMean, error);
    return error * error;
  });
}

}  // namespace

int main() {
  std::cout << std::setprecision(10);
  print("own_errors", own_errors);
  print("own_targets", own_targets);
  print("twelve_steps", [](Strategy& strategy) { starter(strategy, ReduceOp::kMean, 12); });
  print("sum", [](Strategy& strategy) { starter(strategy, ReduceOp::kSum, 4); });
  print("mean_in_loss", mean_in_loss);
  print("no_aggregation", no_aggregation);
  print("drawn_once", [](Strategy& strategy) { one_draw(strategy, false); });
  print("drawn_on_host", [](Strategy& strategy) { one_draw(strategy, true); });
}
