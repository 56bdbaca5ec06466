// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Lab 2, other changes of the starter: docs/labs/step_diverges.md.
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>

#include <iomanip>
#include <iostream>
#include <vector>

using namespace belfry;
namespace {

/// The numbers and operations that a change of the starter replaces.
struct Change {
  double step_size = 0.75;
  bool divided_by_share = true;
  ReduceOp op = ReduceOp::kSum;
};

/// Returns the weight after each of four steps, as the starter does, with a change.
std::vector<double> train(int replicas, const Change& change) {
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
          if (change.divided_by_share) gradient /= static_cast<double>(share.size());
          replica.merge_call(
              [&](CrossReplicaContext& cross, const PerReplica<double>& gradients) {
                const auto reduced = cross.reduce(change.op, gradients);
                cross.update(
                    weight, [](double& w, double size, double g) { w -= size * g; },
                    change.step_size, reduced);
              },
              gradient);
        },
        step);
    weights.push_back(strategy.read(weight));
  }
  return weights;
}

void print(const char* name, const Change& change) {
  const auto column = [](const auto& text) { std::cout << std::setw(12) << text; };
  std::cout << "== " << name << "\nstep";
  for (const char* head : {"1 replica", "2 replicas", "4 replicas"}) column(head);
  const std::vector<double> on_1 = train(1, change);
  const std::vector<double> on_2 = train(2, change);
  const std::vector<double> on_4 = train(4, change);
  for (std::size_t step = 0; step < on_1.size(); ++step) {
    std::cout << '\n' << std::setw(4) << step + 1;
    for (double weight : {on_1[step], on_2[step], on_4[step]}) column(weight);
  }
  std::cout << '\n';
}

}  // namespace

int main() {
  std::cout << std::setprecision(10);
  print("quarter_step", {.step_size = 0.1875});
  print("sums", {.divided_by_share = false});
  print("means_of_sums", {.divided_by_share = false, .op = ReduceOp::kMean});
}
