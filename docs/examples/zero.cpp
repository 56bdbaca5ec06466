// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// State of an optimiser in parts: docs/sharded.md.
#include "zero_strategy.h"
#include <belfry/checkpoint.h>
#include <belfry/sim/backend.h>

#include <filesystem>
#include <iostream>

using namespace belfry;

// [table]
void keep_a_table(Strategy& strategy) {
  auto table = strategy.sharded_variable([] { return Tensor<float>::from({5}, {1, 2, 3, 4, 5}); },
                                         Axis(0), {.name = "table"});
  strategy.run([&](ReplicaContext& replica) {
    scale(table.on(replica), 10.0F);                   // The own rows, in place.
    const Tensor<float> whole = table.whole(replica);  // Of all replicas, for use.
    table.on(replica) = replica.reduce_scatter(ReduceOp::kMean, whole, Axis(0));
  });
  std::cout << strategy.run([&](ReplicaContext& replica) { return table.on(replica).to_host(); });
  std::cout << '\n' << strategy.read(table).count() << " elements\n";
}
// [table]

int main() {
  {
    sim::Backend backend{{.devices = 3}};
    MirroredStrategy strategy{backend};
    keep_a_table(strategy);
  }
  // [zero]
  sim::Backend backend{{.devices = 4}};
  ZeroStrategy strategy{backend, {.order = ReductionOrder::kReplicaOrder}};
  const auto parameter = strategy.parameter([] { return Tensor<float>::full({64, 32}, 1.0F); });
  for (int step = 0; step < 3; ++step) {
    strategy.run([&](ReplicaContext& replica) {
      const auto id = static_cast<float>(replica.replica_id());
      strategy.train(replica, parameter, Tensor<float>::full({64, 32}, id));
    });
  }
  const auto weights = strategy.local_values(parameter.weight);
  std::cout << weights[1].to_host()[0] << '\n';
  // 8192 of the weight, 2048 of the velocity.
  std::cout << backend.device(1).memory().live_bytes << " bytes\n";
  // [zero]
}
