// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The older names: 2 is the mean of 1 and 3.
#include <belfry/sim/backend.h>
#include <belfry/tower.h>

namespace older = belfry::tower;

int main() {
  belfry::sim::Backend backend{{.devices = 2}};
  belfry::MirroredStrategy strategy{backend};
  const auto values = older::run(
      strategy, [](belfry::ReplicaContext& replica) { return 1.0 + 2.0 * replica.replica_id(); });
  const auto mean = older::reduce(strategy, "mean", values);
  return older::reduce(strategy, "mean", mean).value() == 2.0 ? 0 : 1;
}
