// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/strategies.h"
#include "digits.h"
#include "perceptron.h"
#include "rounding_bound.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace belfry::demo {

struct TrainingOptions {
  std::uint64_t seed = 1;  ///< Of the weights to start from.
  float rate = 0.05F;
  float momentum = 0.9F;
  /// Leaves the gradient of this replica out of each step: a fault for the comparison with a single
  /// device to find.
  std::optional<int> dropped_replica{};
};

/// The results of a step, and their differences from the same step on a single device.
struct StepReport {
  double loss = 0;            ///< The mean over the examples, before the step.
  bool finite = true;         ///< False once numbers have overflown; nothing is compared then.
  double worst_gradient = 0;  ///< The largest difference of a gradient's element over its bound.
  double worst_weight = 0;    ///< The same of a weight after the step.

  bool within_bounds() const { return worst_gradient <= 1 && worst_weight <= 1; }
};

/// Trains a perceptron by gradient descent with momentum on the replicas of a strategy, and repeats
/// each step on a single device from the same state.
class Trainer {
 public:
  Trainer(Strategy& strategy, const Digits& digits, TrainingOptions options);

  /// A step on the images numbered `rows`. The images are split over the replicas; the gradient is
  /// the mean over all images, whatever the replicas' shares. Order: blocks the host.
  StepReport step(std::span<const int> rows);
  /// The same step without the comparison. Returns the loss. Order: blocks the host.
  double step_alone(std::span<const int> rows);
  /// How many of the images numbered `rows` the network tells right. Order: blocks the host.
  int count_correct(std::span<const int> rows);
  /// All weights, in the order of `Weights`. Order: blocks the host.
  std::vector<float> weights();
  /// A hash of the weights' bits.
  std::uint64_t digest();

 private:
  // The results on either side of the comparison.
  struct Outcome {
    Weights<float> gradient;
    Weights<float> velocity;
    Weights<float> weights;
  };
  struct OneDevice {
    Outcome outcome;
    Weights<float> magnitudes;
  };

  Outcome state();
  double step_on_replicas(std::span<const int> rows, Outcome& outcome);
  OneDevice step_on_one_device(std::span<const int> rows, const Outcome& before);

  Strategy& strategy_;
  OneDeviceStrategy single_;
  const Digits& digits_;
  TrainingOptions options_;
  MirroredVariable<Weights<float>> weights_;
  MirroredVariable<Weights<float>> velocity_;
};

/// The elements of all leaves, concatenated. Order: blocks the host.
std::vector<float> flat(const Weights<float>& weights);

}  // namespace belfry::demo
