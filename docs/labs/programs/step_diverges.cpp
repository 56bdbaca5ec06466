// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Lab 2, the starter: docs/labs/step_diverges.md.
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>

#include <iomanip>
#include <iostream>
#include <vector>

using namespace belfry;
namespace {

// [train]
/// Fits a weight to eight examples, whose mean is 4, and returns the weight after each of four
/// steps. Each step uses all examples, shared out over the replicas.
std::vector<double> train(int replicas) {
  sim::Backend backend{{.devices = replicas}};
  MirroredStrategy strategy{backend};
  const auto weight = strategy.mirrored_variable(0.0);
  const auto examples = Dataset<double>::from({1, 2, 3, 4, 4, 5, 6, 7}).repeat(4).batch(8);

  std::vector<double> weights;
  for (const auto& step :
       strategy.distribute_dataset(examples, {.end_of_data = EndOfData::kDropPartialStep})) {
    strategy.run(
        [&](ReplicaContext& replica, const std::vector<double>& share) {
          double gradient = 0;
          for (double example : share) gradient += weight.on(replica) - example;
          gradient /= static_cast<double>(share.size());
          replica.merge_call(
              [&](CrossReplicaContext& cross, const PerReplica<double>& gradients) {
                const auto reduced = cross.reduce(ReduceOp::kSum, gradients);
                cross.update(weight, [](double& w, double g) { w -= 0.75 * g; }, reduced);
              },
              gradient);
        },
        step);
    weights.push_back(strategy.read(weight));
  }
  return weights;
}
// [train]

}  // namespace

int main() {
  const auto column = [](const auto& text) { std::cout << std::setw(12) << text; };
  std::cout << std::setprecision(10) << "step";
  for (const char* head : {"1 replica", "2 replicas", "4 replicas"}) column(head);
  const std::vector<double> on_1 = train(1);
  const std::vector<double> on_2 = train(2);
  const std::vector<double> on_4 = train(4);
  for (std::size_t step = 0; step < on_1.size(); ++step) {
    std::cout << '\n' << std::setw(4) << step + 1;
    for (double weight : {on_1[step], on_2[step], on_4[step]}) column(weight);
  }
  std::cout << '\n';
}
