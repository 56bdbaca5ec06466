// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Finds merge functions whose result depends on the replica that passed the function. Each part
// prints its name and its result.
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>
#include <belfry/testing/compare_functions.h>

#include <algorithm>
#include <iostream>

using namespace belfry;

namespace {

// [captured]
double train(sim::Backend& backend) {
  MirroredStrategy strategy{backend};
  auto weight = strategy.mirrored_variable(10.0);
  strategy.run([&](ReplicaContext& replica) {
    const double gradient = 1.0 + replica.replica_id();  // 1 on replica 0, 2 on replica 1
    replica.merge_call([&](CrossReplicaContext& cross) {
      cross.update(weight, [gradient](double& w) { w -= gradient; });
    });
  });
  return strategy.read(weight);
}
// [captured]

// [written]
PerReplica<double> largest(sim::Backend& backend) {
  MirroredStrategy strategy{backend};
  return strategy.run([](ReplicaContext& replica) {
    double seen = 0;
    replica.merge_call(
        [&](CrossReplicaContext&, const PerReplica<double>& values) {
          for (double value : values) seen = std::max(seen, value);
        },
        1.0 + replica.replica_id());
    return seen;
  });
}
// [written]

// [returned]
double largest_of(CrossReplicaContext&, const PerReplica<double>& values) {
  return *std::max_element(values.begin(), values.end());
}

PerReplica<double> largest_returned(sim::Backend& backend) {
  MirroredStrategy strategy{backend};
  return strategy.run([](ReplicaContext& replica) {
    const double seen = replica.merge_call(largest_of, 1.0 + replica.replica_id());
    return seen;
  });
}
// [returned]

}  // namespace

int main() {
  std::cout << "== compare\n";
  // [compare]
  try {
    belfry::testing::compare_functions({.devices = 2}, train);
  } catch (const InvalidArgumentError& error) {
    std::cout << error.what() << '\n';
  }
  // [compare]

  std::cout << "== written\n";
  try {
    belfry::testing::compare_functions({.devices = 2}, largest);
  } catch (const InvalidArgumentError& error) {
    std::cout << error.what() << '\n';
  }
  belfry::testing::compare_functions({.devices = 2}, largest_returned);
}
