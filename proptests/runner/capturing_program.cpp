// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// A program whose merge function captures a value that differs between replicas: the comparison of
// programs must find the capture.
#include "belfry/belfry.h"
#include "belfry/sim/backend.h"

#include <iostream>

using namespace belfry;

int main() {
  sim::Backend backend{{.devices = 2}};
  MirroredStrategy strategy{backend};
  auto weight = strategy.mirrored_variable(10.0);
  strategy.run([&](ReplicaContext& replica) {
    const double gradient = 1.0 + replica.replica_id();
    replica.merge_call([&](CrossReplicaContext& cross) {
      cross.update(weight, [gradient](double& w) { w -= gradient; });
    });
  });
  std::cout << strategy.read(weight) << '\n';
}
