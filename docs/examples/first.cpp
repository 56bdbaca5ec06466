// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// [first]
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>

#include <iostream>

using namespace belfry;

int main() {
  sim::Backend backend{{.devices = 2, .seed = 7}};
  MirroredStrategy strategy{backend};
  auto weight = strategy.mirrored_variable(10.0);

  const PerReplica<double> losses = strategy.run([&](ReplicaContext& replica) {
    const double gradient = 1.0 + replica.replica_id();  // 1 on replica 0, 2 on replica 1
    replica.merge_call(
        [&](CrossReplicaContext& cross, const PerReplica<double>& gradients) {
          const Mirrored<double> mean = cross.reduce(ReduceOp::kMean, gradients);
          cross.update(weight, [](double& w, double m) { w -= m; }, mean);
        },
        gradient);
    return weight.on(replica) * gradient;
  });

  std::cout << losses[0] << ' ' << losses[1] << ' ' << strategy.read(weight) << '\n';
}
// [first]
