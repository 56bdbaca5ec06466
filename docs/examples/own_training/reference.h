// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ball.h"
#include "examples.h"
#include "network.h"

#include <cstddef>
#include <span>
#include <vector>

/// A second implementation of the network, for tests: plain loops in double, with a ball for each
/// number.
namespace own_training {

/// A matrix of balls, row-major.
struct BallMatrix {
  std::size_t columns = 1;
  std::vector<Ball> balls;

  std::size_t rows() const { return balls.size() / columns; }
  Ball& at(std::size_t row, std::size_t column) { return balls[row * columns + column]; }
  Ball at(std::size_t row, std::size_t column) const { return balls[row * columns + column]; }
};
using BallWeights = Weights<BallMatrix>;

/// Balls with a single number each.
BallMatrix exact(std::span<const float> values, std::size_t columns);
BallWeights exact(const HostWeights& weights);

/// The results of Layer before the rectification.
BallMatrix expected_layer(const BallMatrix& x, const BallMatrix& weights, const BallMatrix& bias);
/// `values` where `decides` is above 0, and 0 elsewhere.
BallMatrix expected_gate(const BallMatrix& decides, const BallMatrix& values);

/// The results of Loss.
struct ExpectedLoss {
  BallMatrix slopes;
  std::vector<Ball> losses;
};
ExpectedLoss expected_loss(const BallMatrix& scores, std::span<const std::int32_t> labels,
                           float scale);
/// The results of LayerGradient: of the weights, and of the bias.
BallMatrix expected_weight_gradient(const BallMatrix& x, const BallMatrix& slopes);
BallMatrix expected_bias_gradient(const BallMatrix& slopes);
/// The slopes that SlopesBelow computes, before the gate.
BallMatrix expected_below(const BallMatrix& slopes, const BallMatrix& weights);

/// The results of `pass`, for the examples numbered `rows`.
struct ExpectedPass {
  BallWeights gradient;
  std::vector<Ball> losses;
};
ExpectedPass expected_pass(const BallWeights& weights, const Examples& examples,
                           std::span<const int> rows, float scale);
/// The weights after a step, and the mean of the losses before the step.
struct ExpectedStep {
  BallWeights weights;
  Ball loss;
};
ExpectedStep expected_step(const BallWeights& weights, const Examples& examples,
                           std::span<const int> rows, float rate);

/// The largest distance of a number from the middle of its ball, in radii: at most 1 if all numbers
/// are in their balls.
double worst(const BallMatrix& expected, std::span<const float> values);
double worst(const BallWeights& expected, const HostWeights& values);
/// The largest radius.
double widest(const BallWeights& weights);

}  // namespace own_training
