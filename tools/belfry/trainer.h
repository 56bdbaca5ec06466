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
  /// Leaves the gradient of this replica out of each step: a fault that the comparison with one
  /// device must find.
  std::optional<int> dropped_replica{};
};

/// What a step did, and how far it was from the same step on one device.
struct StepReport {
  double loss = 0;            ///< The mean over the examples, before the step.
  bool finite = true;         ///< False once numbers have overflown; nothing is compared then.
  double worst_gradient = 0;  ///< The largest difference of a gradient's element over its bound.
  double worst_weight = 0;    ///< The same of a weight after the step.

  bool within_bounds() const { return worst_gradient <= 1 && worst_weight <= 1; }
};

/// Trains a perceptron by gradient descent with momentum on the replicas of a strategy, and repeats
/// each step on one device from the same state.
class Trainer {
 public:
  Trainer(Strategy& strategy, const Digits& digits, TrainingOptions options);

  /// One step on the images numbered `rows`: they are split over the replicas, the gradient is the
  /// mean over all of them whatever the replicas' shares. Order: blocks the host.
  StepReport step(std::span<const int> rows);
  /// How many of the images numbered `rows` the network tells right. Order: blocks the host.
  int count_correct(std::span<const int> rows);
  /// All weights, in the order of `Weights`. Order: blocks the host.
  std::vector<float> weights();
  /// A hash of the weights' bits.
  std::uint64_t digest();

 private:
  // Both sides of the comparison have these.
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

/// The elements of all leaves, one after another. Order: blocks the host.
std::vector<float> flat(const Weights<float>& weights);

}  // namespace belfry::demo
