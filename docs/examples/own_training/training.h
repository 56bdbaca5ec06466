// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "examples.h"
#include "network.h"
#include <belfry/belfry.h>

#include <cstdint>
#include <vector>

namespace own_training {

/// The numbers of the examples that each replica gets; a share may be empty.
using Shares = belfry::PerReplica<std::vector<int>>;

struct TrainingOptions {
  Layout layout{};
  std::uint64_t seed = 1;  ///< Of the weights to start from.
  float rate = 0.5F;       ///< The length of a step.
};

/// Trains a network by gradient descent on the replicas of a strategy.
class Training {
 public:
  /// `strategy` and `examples` must live longer.
  Training(belfry::Strategy& strategy, const Examples& examples, TrainingOptions options = {});

  /// A step along the mean of the gradients of all examples. Returns the mean of the losses before
  /// the step. Without examples, the weights stay and the loss is 0. Order: blocks the host.
  double step(const Shares& shares);
  /// The number of the examples that the network tells right. Order: blocks the host.
  int count_correct(const Shares& shares);

  /// The weights of each replica. Order: blocks the host.
  std::vector<HostWeights> weights();
  /// Gives all replicas these weights.
  void assign(const HostWeights& weights);

 private:
  belfry::Strategy& strategy_;
  const Examples& examples_;
  TrainingOptions options_;
  belfry::MirroredVariable<Network> network_;
};

}  // namespace own_training
