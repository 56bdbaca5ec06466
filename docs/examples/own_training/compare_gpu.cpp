// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Trains on two replicas on GPUs and on two replicas on the simulator, and compares each step with
// the bound of the reference: own_training_gpu FILE-OF-DIGITS
#include "reference.h"
#include "training.h"
#include <belfry/cuda/backend.h>
#include <belfry/sim/backend.h>

#include <algorithm>
#include <exception>
#include <iostream>

namespace {

using namespace belfry;
using own_training::Examples;
using own_training::HostWeights;
using own_training::Shares;
using own_training::Training;

// The largest distances from the middle of a ball, in radii.
struct Distances {
  double gpu = 0;
  double host = 0;
};

// A step on both sides, from the weights of the GPU.
void step(Training& gpu, Training& host, const Shares& shares, const Examples& digits,
          Distances& worst) {
  const HostWeights before = gpu.weights()[0];
  host.assign(before);
  std::vector<int> rows;
  for (const auto& share : shares) rows.insert(rows.end(), share.begin(), share.end());
  const auto expected = own_training::expected_step(own_training::exact(before), digits, rows,
                                                    own_training::TrainingOptions().rate)
                            .weights;
  gpu.step(shares);
  host.step(shares);
  for (const HostWeights& weights : gpu.weights()) {
    worst.gpu = std::max(worst.gpu, own_training::worst(expected, weights));
  }
  worst.host = std::max(worst.host, own_training::worst(expected, host.weights()[0]));
}

bool train(const Examples& digits) {
  cuda::Backend gpus{cuda::Options::fit(2)};
  sim::Backend simulator{{.devices = 2}};
  MirroredStrategy on_gpus{gpus}, on_host{simulator};
  Training gpu{on_gpus, digits}, host{on_host, digits};

  const DistributeOptions pad{.end_of_data = EndOfData::kPadWithEmpties};
  const auto batches = Dataset<int>::range(digits.count()).shuffle(1).batch(64);
  Distances worst;
  int steps = 0, correct = 0;
  for (const auto& shares : on_gpus.distribute_dataset(batches, pad)) {
    step(gpu, host, shares, digits, worst);
    ++steps;
  }
  for (const auto& shares : on_gpus.distribute_dataset(batches, pad)) {
    correct += gpu.count_correct(shares);
  }
  std::cerr << "largest distance in radii: " << worst.gpu << " on GPUs, " << worst.host
            << " on the host; " << correct << " of " << digits.count() << " images right\n";
  const bool inside = worst.gpu <= 1 && worst.host <= 1;
  std::cout << steps << " steps, weights " << (inside ? "within" : "outside of") << " the bound\n"
            << (2 * correct > digits.count() ? "more than" : "at most")
            << " half of the images right\n";
  return inside && 2 * correct > digits.count();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return train(own_training::read_digits(argc > 1 ? argv[1] : "digits.csv")) ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "own_training_gpu: " << error.what() << '\n';
    return 1;
  }
}
