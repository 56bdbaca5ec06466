// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The program of docs/groups.md: a layer whose weights are shared out along one axis of a mesh, and
// whose batch is shared out along the other.
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>

#include <iostream>
#include <vector>

using namespace belfry;

int main() {
  // [mesh]
  sim::Backend backend{{.devices = 4}};
  MirroredStrategy strategy{backend};
  const ReplicaMesh mesh = strategy.mesh({{"data", 2}, {"model", 2}});
  // [mesh]
  std::cout << "== layer\n";
  // [layer]
  const auto results = strategy.run([&](ReplicaContext& replica) {
    const auto data = replica.along(mesh, "data");
    const auto model = replica.along(mesh, "model");
    // A row of the batch for each place on the axis data, a weight for each place on model.
    const double input = 1.0 + data.index() + model.index();
    const double weight = 10.0 * (1 + model.index());
    const double output = model.all_reduce(ReduceOp::kSum, input * weight);
    const double gradient = data.all_reduce(ReduceOp::kMean, input);
    return std::vector{output, gradient};
  });
  std::cout << results << '\n';
  // [layer]
  std::cout << "== groups\n";
  // [groups]
  const ReplicaGroups groups = strategy.groups({{0, 1, 2}, {3}});
  const auto largest = strategy.run([&](ReplicaContext& replica) {
    const auto group = replica.in(groups);
    return group.merge_call(
        [](CrossReplicaContext&, const PerReplica<int>& ids) { return *(ids.end() - 1); },
        replica.replica_id());
  });
  std::cout << largest << '\n';
  // [groups]
}
