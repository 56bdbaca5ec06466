// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Lab 4, the starter: docs/labs/merge_order.md.
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>

#include <cstdint>
#include <iostream>
#include <map>
#include <string>
#include <vector>

using namespace belfry;
namespace {

// [sum]
using Sums = std::map<std::string, double>;

/// Adds the gradients of all replicas, by name. Each replica brings 1 for w and 100 for b.
Sums sum_gradients(Strategy& strategy) {
  const auto w = strategy.replica_local_variable(ReduceOp::kMean, 1.0);
  const auto b = strategy.replica_local_variable(ReduceOp::kMean, 100.0);
  std::string busy;  // The layer in work: two replicas at one layer would be slow.
  const PerReplica<Sums> sums = strategy.run([&](ReplicaContext& replica) {
    std::vector<std::string> layers{"w", "b"};
    if (busy == "w") layers = {"b", "w"};
    std::map<std::string, double> gradients;
    for (const std::string& layer : layers) {
      busy = layer;
      gradients[layer] = (layer == "w" ? w : b).on(replica);
      busy = "";
    }
    Sums sum;
    for (const std::string& layer : layers) {
      sum[layer] = replica.all_reduce(ReduceOp::kSum, gradients[layer]);
    }
    return sum;
  });
  return sums[0];
}
// [sum]

}  // namespace

int main() {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    sim::Backend backend{{.devices = 2, .seed = seed}};
    MirroredStrategy strategy{backend};
    const Sums sums = sum_gradients(strategy);
    std::cout << "seed " << seed << ": w " << sums.at("w") << ", b " << sums.at("b") << '\n';
  }
}
