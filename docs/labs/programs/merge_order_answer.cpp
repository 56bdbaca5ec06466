// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Lab 4, an attempt and the answer: docs/labs/merge_order.md.
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>

#include <cstdint>
#include <iostream>
#include <map>
#include <string>
#include <vector>

using namespace belfry;
namespace {

using Sums = std::map<std::string, double>;

/// The starter with a name for each merge.
Sums sum_with_tags(Strategy& strategy) {
  const auto w = strategy.replica_local_variable(ReduceOp::kMean, 1.0);
  const auto b = strategy.replica_local_variable(ReduceOp::kMean, 100.0);
  std::string busy;
  return strategy.run([&](ReplicaContext& replica) {
    std::vector<std::string> layers{"w", "b"};
    if (busy == "w") layers = {"b", "w"};
    std::map<std::string, double> gradients;
    for (const std::string& layer : layers) {
      busy = layer;
      gradients[layer] = (layer == "w" ? w : b).on(replica);
      busy = "";
    }
    Sums sum;
    // [tags]
    for (const std::string& layer : layers) {
      sum[layer] = replica.all_reduce(MergeTag{layer}, ReduceOp::kSum, gradients[layer]);
    }
    // [tags]
    return sum;
  })[0];
}

// [answer]
/// Adds the gradients of all replicas, by name. Each replica brings 1 for w and 100 for b.
Sums sum_gradients(Strategy& strategy) {
  const auto w = strategy.replica_local_variable(ReduceOp::kMean, 1.0);
  const auto b = strategy.replica_local_variable(ReduceOp::kMean, 100.0);
  const PerReplica<Sums> sums = strategy.run([&](ReplicaContext& replica) {
    const Sums gradients{{"w", w.on(replica)}, {"b", b.on(replica)}};
    return replica.all_reduce(ReduceOp::kSum, gradients);
  });
  return sums[0];
}
// [answer]

template <class Sum>
void print(std::uint64_t seed, const Sum& sum) {
  sim::Backend backend{{.devices = 2, .seed = seed}};
  MirroredStrategy strategy{backend};
  try {
    const Sums sums = sum(strategy);
    std::cout << "seed " << seed << ": w " << sums.at("w") << ", b " << sums.at("b") << '\n';
  } catch (const Error& error) {
    std::cout << "seed " << seed << ": " << error.what() << '\n';
  }
}

}  // namespace

int main() {
  std::cout << "== tags\n";
  for (const std::uint64_t seed : {2, 3, 5}) print(seed, sum_with_tags);
  std::cout << "== answer\n";
  for (const std::uint64_t seed : {2, 3, 5}) print(seed, sum_gradients);
}
