// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Lab 6, the starter: docs/labs/small_batch.md.
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>

#include <iostream>
#include <numeric>
#include <vector>

using namespace belfry;
namespace {

// [accuracy]
/// Prints the accuracy of a model on nine examples, in batches of four. A 1 in `hits` is an example
/// with the right label.
void print_accuracy(Strategy& strategy, const char* model, const std::vector<int>& hits) {
  std::cout << "model " << model << '\n';
  const auto batches = Dataset<int>::from(hits).batch(4);
  double total = 0;
  int steps = 0;
  for (const auto& step :
       strategy.distribute_dataset(batches, {.end_of_data = EndOfData::kMaskReplicas})) {
    const PerReplica<double> accuracy = strategy.run(
        [](ReplicaContext& replica, const std::vector<int>& share) {
          const double sum = std::accumulate(share.begin(), share.end(), 0.0);
          return replica.all_reduce(ReduceOp::kMean, sum / static_cast<double>(share.size()));
        },
        step);
    steps += 1;
    total += accuracy[0];
    std::cout << "  step " << steps << ": replica 0 has " << step[0].size();
    if (step.has(1)) std::cout << ", replica 1 has " << step[1].size();
    std::cout << ", accuracy " << accuracy[0] << '\n';
  }
  std::cout << "  accuracy " << total / steps << '\n';
}
// [accuracy]

}  // namespace

int main() {
  sim::Backend backend{{.devices = 2, .seed = 1}};
  MirroredStrategy strategy{backend};
  print_accuracy(strategy, "A", {1, 1, 1, 1, 1, 1, 0, 1, 0});
  print_accuracy(strategy, "B", {1, 0, 1, 0, 1, 1, 0, 1, 1});
}
