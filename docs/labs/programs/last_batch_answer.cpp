// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Lab 3, the answer: docs/labs/last_batch.md.
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>

#include <iostream>
#include <vector>

using namespace belfry;
namespace {

// [means]
/// Prints the mean of each batch of four, computed on two replicas.
void print_means(Strategy& strategy, EndOfData end_of_data) {
  const auto batches = Dataset<double>::from({1, 2, 3, 4, 5}).batch(4);
  for (const auto& step : strategy.distribute_dataset(batches, {.end_of_data = end_of_data})) {
    const PerReplica<double> means = strategy.run(
        [](ReplicaContext& replica, const std::vector<double>& share) {
          double sum = 0;
          for (double example : share) sum += example;
          const double total = replica.all_reduce(ReduceOp::kSum, sum);
          const auto count = static_cast<double>(share.size());
          return total / replica.all_reduce(ReduceOp::kSum, count);
        },
        step);
    std::cout << "mean " << means[0] << '\n';
  }
}
// [means]

}  // namespace

int main() {
  sim::Backend backend{{.devices = 2}};
  MirroredStrategy strategy{backend};
  print_means(strategy, EndOfData::kPadWithEmpties);
  print_means(strategy, EndOfData::kMaskReplicas);
}
