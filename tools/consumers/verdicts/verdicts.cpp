// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Prints a verdict in each line, for other programs.
#include "training.h"
#include <belfry/sim/explore.h>
#include <belfry/sim/verdict_json.h>

#include <iostream>

using namespace belfry;

int main() {
  const sim::Options options{.devices = 2};
  const auto certified = sim::explore(options, [](sim::Backend& backend) {
    MirroredStrategy strategy{backend};
    return train(strategy, {1, 2, 3, 4});
  });
  const auto refuted = sim::explore(options, [](sim::Backend& backend) {
    MirroredStrategy strategy{backend};
    return captured_total(strategy);
  });
  std::cout << sim::verdict_json("train", certified) << '\n'
            << sim::verdict_json("captured \"total\"", refuted) << '\n';
}
