// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// A training on four devices is interrupted, and goes on with three: interrupted_training [FILE]
#include "spring.h"
#include <belfry/sim/backend.h>

#include <exception>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <vector>

using namespace belfry;
namespace {

// [story]
void tell(const std::filesystem::path& file) {
  // Without load the spring is 1 cm long, and with each kg 2 cm longer.
  const std::vector<spring::Measurement> measured{{0, 1}, {1, 3}, {0, 1}, {1, 3}, {0, 1},
                                                  {1, 3}, {0, 1}, {1, 3}, {2, 5}, {0, 1}};
  std::cout << "ten measurements of a spring, in batches of 4, 4 and 2; two for an update\n";
  {
    std::cout << "four replicas, first epoch\n";
    sim::Backend backend{{.devices = 4, .seed = 1}};
    MirroredStrategy strategy{backend};
    spring::Training training{strategy};
    training.train(measured, 3, std::cout);
    std::cout << "  mean squared error " << training.end_epoch() << '\n';
    std::cout << "four replicas, second epoch\n";
    training.train(measured, 1, std::cout);
    training.checkpoint().save(file);
    std::cout << "interrupted: " << training.waiting() << " measurements wait for an update,"
              << " and a checkpoint is saved\n";
  }
  sim::Backend backend{{.devices = 3, .seed = 2}};
  MirroredStrategy strategy{backend};
  spring::Training training{strategy};
  training.checkpoint().restore(file);
  std::cout << "three replicas restore it, and go on with " << training.waiting() << " waiting\n";
  training.train(measured, 2, std::cout);
  std::cout << "  mean squared error " << training.end_epoch() << '\n';

  std::cout << "the same training on one replica, without interruption\n";
  sim::Backend single{{.devices = 1}};
  MirroredStrategy alone{single};
  spring::Training whole{alone};
  for (int epoch = 1; epoch <= 2; ++epoch) {
    whole.train(measured, 3, std::cout);
    std::cout << "  mean squared error " << whole.end_epoch() << '\n';
  }
  std::cout << (whole.line() == training.line() ? "both end at the same line\n"
                                                : "the lines differ\n");
}
// [story]

}  // namespace

int main(int argc, char** argv) {
  std::cout << std::setprecision(10);
  try {
    tell(argc > 1 ? argv[1] : "spring.safetensors");
  } catch (const std::exception& error) {
    std::cerr << "interrupted_training: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
