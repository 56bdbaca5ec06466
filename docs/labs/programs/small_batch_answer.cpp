// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Lab 6, an attempt and the answer: docs/labs/small_batch.md.
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>

#include <iostream>
#include <numeric>
#include <vector>

using namespace belfry;
namespace {

double hits_in(const std::vector<int>& share) {
  return std::accumulate(share.begin(), share.end(), 0.0);
}

/// The starter without its last batch.
double accuracy_of_whole_batches(Strategy& strategy, const std::vector<int>& hits) {
  double total = 0;
  int steps = 0;
  for (const auto& step : strategy.distribute_dataset(
           Dataset<int>::from(hits).batch(4), {.end_of_data = EndOfData::kDropPartialStep})) {
    steps += 1;
    total += strategy.run(
        [](ReplicaContext& replica, const std::vector<int>& share) {
          return replica.all_reduce(ReduceOp::kMean,
                                    hits_in(share) / static_cast<double>(share.size()));
        },
        step)[0];
  }
  return total / steps;
}

// [answer]
/// The accuracy of a model. Each replica counts its hits and its examples, and a read adds the
/// counts of all replicas.
double accuracy_of(Strategy& strategy, const std::vector<int>& hits) {
  const auto right = strategy.replica_local_variable(ReduceOp::kSum, 0.0);
  const auto seen = strategy.replica_local_variable(ReduceOp::kSum, 0.0);
  const auto batches = Dataset<int>::from(hits).batch(4);
  for (const auto& step :
       strategy.distribute_dataset(batches, {.end_of_data = EndOfData::kMaskReplicas})) {
    strategy.run(
        [&](ReplicaContext& replica, const std::vector<int>& share) {
          right.on(replica) += hits_in(share);
          seen.on(replica) += static_cast<double>(share.size());
        },
        step);
  }
  return strategy.read(right) / strategy.read(seen);
}
// [answer]

template <class Accuracy>
void print(const char* name, const Accuracy& accuracy) {
  std::cout << "== " << name << '\n';
  sim::Backend backend{{.devices = 2, .seed = 1}};
  MirroredStrategy strategy{backend};
  std::cout << "A " << accuracy(strategy, {1, 1, 1, 1, 1, 1, 0, 1, 0}) << '\n';
  std::cout << "B " << accuracy(strategy, {1, 0, 1, 0, 1, 1, 0, 1, 1}) << '\n';
}

}  // namespace

int main() {
  print("whole_batches", accuracy_of_whole_batches);
  print("answer", accuracy_of);
}
