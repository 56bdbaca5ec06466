// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Lab 1, the second attempt to mend the starter: docs/labs/loss_stays.md.
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>

#include <iostream>
#include <random>

using namespace belfry;

int main() {
  sim::Backend backend{{.devices = 2, .seed = 1}};
  MirroredStrategy strategy{backend};
  std::minstd_rand random;
  try {
    // [attempt]
    const auto weight = strategy.mirrored_variable(0.0, {.name = "weight"});
    strategy.cross_replica().update(weight, [&](double& w) { w = random() % 8; });
    std::cout << "weight " << strategy.read(weight) << '\n';
    // [attempt]
  } catch (const Error& error) {
    std::cout << error.what() << '\n';
  }
}
