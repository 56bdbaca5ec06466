// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Trains a network on handwritten digits, on four replicas: train FILE-OF-DIGITS
#include "training.h"
#ifdef OWN_TRAINING_CUDA
#include <belfry/cuda/backend.h>
#else
#include <belfry/sim/backend.h>
#endif

#include <exception>
#include <iomanip>
#include <iostream>

namespace {

using namespace belfry;
using own_training::Examples;
using own_training::Training;

void train(const Examples& digits) {
  // Further digits depend on the processor: Eigen and the C library choose the order of additions.
  std::cout << std::fixed << std::setprecision(1);
  // [train]
#ifdef OWN_TRAINING_CUDA
  cuda::Backend backend{cuda::Options::fit(4)};
#else
  sim::Backend backend{{.devices = 4, .seed = 1}};
#endif
  MirroredStrategy strategy{backend};
  Training training{strategy, digits};

  const auto all = Dataset<int>::range(digits.count());
  const auto learned = all.filter([](int row) { return row % 5 != 0; }).shuffle(1);
  const auto held_out = all.filter([](int row) { return row % 5 == 0; });
  const DistributeOptions pad{.end_of_data = EndOfData::kPadWithEmpties};
  for (int epoch = 1; epoch <= 5; ++epoch) {
    double sum = 0;
    int steps = 0;
    for (const auto& shares : strategy.distribute_dataset(learned.epoch(epoch).batch(64), pad)) {
      sum += training.step(shares);
      ++steps;
    }
    std::cout << "epoch " << epoch << ": loss " << sum / steps << '\n';
  }

  int correct = 0;
  int count = 0;
  for (const auto& shares : strategy.distribute_dataset(held_out.batch(100), pad)) {
    correct += training.count_correct(shares);
    for (const auto& share : shares) count += static_cast<int>(share.size());
  }
  std::cout << (10 * correct > 9 * count ? "more than" : "at most") << " 90 % of " << count
            << " images right\n";
  // [train]
}

}  // namespace

int main(int argc, char** argv) {
  try {
    train(own_training::read_digits(argc > 1 ? argv[1] : "digits.csv"));
  } catch (const std::exception& error) {
    std::cerr << "train: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
