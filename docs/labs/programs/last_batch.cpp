// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Lab 3, the starter: docs/labs/last_batch.md.
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>
#include <belfry/sim/timeline.h>

#include <iostream>
#include <vector>

using namespace belfry;
namespace {

// [means]
/// Prints the mean of each batch of four, computed on two replicas.
void print_means(Strategy& strategy) {
  const auto batches = Dataset<double>::from({1, 2, 3, 4, 5}).batch(4);
  for (const auto& step :
       strategy.distribute_dataset(batches, {.end_of_data = EndOfData::kPadWithEmpties})) {
    const PerReplica<double> means = strategy.run(
        [](ReplicaContext& replica, const std::vector<double>& share) {
          if (share.empty()) return 0.0;
          double sum = 0;
          for (double example : share) sum += example;
          return replica.all_reduce(ReduceOp::kMean, sum / static_cast<double>(share.size()));
        },
        step);
    std::cout << "mean " << means[0] << '\n';
  }
}
// [means]

}  // namespace

int main() {
  // [trace]
  TraceFile trace{"last_batch.jsonl"};
  sim::Backend backend{{.devices = 2, .schedule = sim::Schedule::fixed()},
                       sim::Attachments{.trace = &trace}};
  // [trace]
  MirroredStrategy strategy{backend};
  std::cout << "== run\n";
  try {
    print_means(strategy);
  } catch (const Error& error) {
    std::cout << error.what() << '\n';
  }
  std::cout << "== timeline\n" << sim::timeline(trace);
}
