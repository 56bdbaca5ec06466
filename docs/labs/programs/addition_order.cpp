// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Lab 5, the starter: docs/labs/addition_order.md.
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <vector>

using namespace belfry;
namespace {

// [sum]
const std::vector<float> kTerms{1, 1e8F, -1e8F, 4};  // By replica id. The sum is 5.

/// The sum of the terms of all replicas, on each replica.
PerReplica<float> sums_of_terms(Strategy& strategy) {
  return strategy.run([](ReplicaContext& replica) {
    const auto id = static_cast<std::size_t>(replica.replica_id());
    const std::vector<float> terms = replica.all_gather(std::vector<float>{kTerms[id]});
    float sum = 0;
    for (std::size_t i = 0; i < terms.size(); ++i) sum += terms[(id + i) % terms.size()];
    return sum;
  });
}
// [sum]

// [ring]
/// The additions of a ring that gives the sum.
AdditionTree additions_of(float sum) {
  std::vector<std::vector<float>> inputs;
  for (const float term : kTerms) inputs.push_back({term});
  const std::vector<NamedOrder> orders = orders_that_explain(inputs, {sum});
  const auto ring = std::ranges::find(orders, OrderKind::kRing, &NamedOrder::kind);
  return additions(*ring, {.members = 4, .elements = 1}, 0);
}
// [ring]

}  // namespace

int main() {
  sim::Backend backend{{.devices = 4, .seed = 1}};
  MirroredStrategy strategy{backend};
  const PerReplica<float> sums = sums_of_terms(strategy);
  for (int id = 0; id < sums.size(); ++id) {
    std::cout << "replica " << id << ": " << sums[id] << ", " << additions_of(sums[id]) << '\n';
  }
}
