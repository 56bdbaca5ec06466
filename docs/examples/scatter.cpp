// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Rows of a table that replicas change: docs/tutorial.md.
#include <belfry/belfry.h>
#include <belfry/scatter.h>
#include <belfry/sim/backend.h>

#include <cstdint>
#include <iostream>
#include <vector>

using namespace belfry;

namespace {

void print(const Tensor<float>& table) {
  for (float value : table.to_host()) std::cout << value << ' ';
  std::cout << '\n';
}

}  // namespace

int main() {
  sim::Backend backend{{.devices = 2, .seed = 1}};
  MirroredStrategy strategy{backend};
  // [scatter]
  const auto table = strategy.mirrored_variable([] { return Tensor<float>::zeros({4, 2}); },
                                                {.aggregation = Aggregation::kSum});
  strategy.run([&](ReplicaContext& replica) {
    // Replica 0 saw the rows 0 and 1, replica 1 the rows 1 and 2: a gradient of ones for each.
    const std::vector<std::int64_t> seen{replica.replica_id(), replica.replica_id() + 1};
    const auto gradient = indexed_slices(Tensor<float>::full({2, 2}, 1.0F),
                                         Tensor<std::int64_t>::from({2}, seen), Shape{4, 2});
    scatter(replica, ScatterOp::kAdd, table, gradient);
  });
  for (const Tensor<float>& component : strategy.local_values(table)) print(component);
  // [scatter]

  // [outside]
  const Scope scope = strategy.scope();  // Tensors made here are on the first device.
  scatter(strategy.cross_replica(), ScatterOp::kSet, table,
          indexed_slices(Tensor<float>::full({1, 2}, 9.0F), Tensor<std::int64_t>::full({1}, 3),
                         Shape{4, 2}));
  print(strategy.read(table));
  // [outside]
}
