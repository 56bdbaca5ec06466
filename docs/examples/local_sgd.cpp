// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// A user's strategy on simulated devices: docs/strategies.md.
#include "local_sgd_training.h"
#include <belfry/sim/backend.h>

int main() {
  // [sim]
  belfry::sim::Backend backend{{.devices = 2}};
  LocalSgdStrategy strategy{backend, {}, 2};
  const float weight = train(strategy, 4);
  std::cout << "mean " << strategy.means_taken() << ": " << weight << '\n';
  // [sim]
}
