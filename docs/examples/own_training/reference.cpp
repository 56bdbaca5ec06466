// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

namespace own_training {
namespace {

BallMatrix zeros(std::size_t rows, std::size_t columns) {
  return {columns, std::vector<Ball>(rows * columns)};
}

BallMatrix descended(BallMatrix weights, const BallMatrix& gradient, float rate) {
  for (std::size_t i = 0; i < weights.balls.size(); ++i) {
    const Ball minus_rate{-double{rate}, 0};
    weights.balls[i] =
        BallSum().add(weights.balls[i]).add_product(minus_rate, gradient.balls[i]).result();
  }
  return weights;
}

}  // namespace

BallMatrix exact(std::span<const float> values, std::size_t columns) {
  BallMatrix result{columns, {}};
  for (const float value : values) result.balls.push_back({value, 0});
  return result;
}

BallWeights exact(const HostWeights& weights) {
  const std::size_t hidden = weights.hidden_bias.size(), classes = weights.output_bias.size();
  return {exact(weights.hidden, hidden), exact(weights.hidden_bias, hidden),
          exact(weights.output, classes), exact(weights.output_bias, classes)};
}

BallMatrix expected_layer(const BallMatrix& x, const BallMatrix& weights, const BallMatrix& bias) {
  BallMatrix y = zeros(x.rows(), bias.columns);
  for (std::size_t row = 0; row < y.rows(); ++row) {
    for (std::size_t column = 0; column < y.columns; ++column) {
      BallSum sum;
      sum.add(bias.at(0, column));
      for (std::size_t k = 0; k < x.columns; ++k) {
        sum.add_product(x.at(row, k), weights.at(k, column));
      }
      y.at(row, column) = sum.result();
    }
  }
  return y;
}

BallMatrix expected_gate(const BallMatrix& decides, const BallMatrix& values) {
  BallMatrix result = values;
  for (std::size_t i = 0; i < result.balls.size(); ++i) {
    result.balls[i] = if_positive(decides.balls[i], values.balls[i]);
  }
  return result;
}

ExpectedLoss expected_loss(const BallMatrix& scores, std::span<const std::int32_t> labels,
                           float scale) {
  ExpectedLoss result{scores, {}};
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const auto label = static_cast<std::size_t>(labels[row]);
    Ball largest = scores.at(row, 0);
    for (std::size_t k = 1; k < scores.columns; ++k) largest = maximum(largest, scores.at(row, k));
    std::vector<Ball> shares(scores.columns);
    BallSum sum;
    for (std::size_t k = 0; k < scores.columns; ++k) {
      shares[k] = exponential(difference(scores.at(row, k), largest));
      sum.add(shares[k]);
    }
    const Ball total = sum.result();
    result.losses.push_back(
        difference(logarithm(total), difference(scores.at(row, label), largest)));
    for (std::size_t k = 0; k < scores.columns; ++k) {
      const Ball target{k == label ? 1.0 : 0.0, 0};
      result.slopes.at(row, k) =
          product(difference(quotient(shares[k], total), target), {scale, 0});
    }
  }
  return result;
}

BallMatrix expected_weight_gradient(const BallMatrix& x, const BallMatrix& slopes) {
  BallMatrix gradient = zeros(x.columns, slopes.columns);
  for (std::size_t input = 0; input < x.columns; ++input) {
    for (std::size_t column = 0; column < slopes.columns; ++column) {
      BallSum sum;
      for (std::size_t row = 0; row < slopes.rows(); ++row) {
        sum.add_product(x.at(row, input), slopes.at(row, column));
      }
      gradient.at(input, column) = sum.result();
    }
  }
  return gradient;
}

BallMatrix expected_bias_gradient(const BallMatrix& slopes) {
  return expected_weight_gradient({1, std::vector<Ball>(slopes.rows(), Ball{1, 0})}, slopes);
}

BallMatrix expected_below(const BallMatrix& slopes, const BallMatrix& weights) {
  BallMatrix below = zeros(slopes.rows(), weights.rows());
  for (std::size_t row = 0; row < below.rows(); ++row) {
    for (std::size_t column = 0; column < below.columns; ++column) {
      BallSum sum;
      for (std::size_t k = 0; k < slopes.columns; ++k) {
        sum.add_product(slopes.at(row, k), weights.at(column, k));
      }
      below.at(row, column) = sum.result();
    }
  }
  return below;
}

ExpectedPass expected_pass(const BallWeights& weights, const Examples& examples,
                           std::span<const int> rows, float scale) {
  BallMatrix x{static_cast<std::size_t>(examples.inputs), {}};
  std::vector<std::int32_t> labels;
  for (const int row : rows) {
    for (int i = 0; i < examples.inputs; ++i) {
      x.balls.push_back({examples.values[static_cast<std::size_t>(row * examples.inputs + i)], 0});
    }
    labels.push_back(examples.labels[static_cast<std::size_t>(row)]);
  }
  const BallMatrix before = expected_layer(x, weights.hidden, weights.hidden_bias);
  const BallMatrix hidden = expected_gate(before, before);
  const BallMatrix scores = expected_layer(hidden, weights.output, weights.output_bias);
  auto [slopes, losses] = expected_loss(scores, labels, scale);
  const BallMatrix below = expected_gate(before, expected_below(slopes, weights.output));
  return {{expected_weight_gradient(x, below), expected_bias_gradient(below),
           expected_weight_gradient(hidden, slopes), expected_bias_gradient(slopes)},
          std::move(losses)};
}

ExpectedStep expected_step(const BallWeights& weights, const Examples& examples,
                           std::span<const int> rows, float rate) {
  const float scale = 1 / static_cast<float>(std::max<std::size_t>(rows.size(), 1));
  const ExpectedPass pass = expected_pass(weights, examples, rows, scale);
  BallSum loss;
  for (const Ball& one : pass.losses) loss.add_product(one, {scale, 0});
  const auto& gradient = pass.gradient;
  return {{descended(weights.hidden, gradient.hidden, rate),
           descended(weights.hidden_bias, gradient.hidden_bias, rate),
           descended(weights.output, gradient.output, rate),
           descended(weights.output_bias, gradient.output_bias, rate)},
          loss.result()};
}

double worst(const BallMatrix& expected, std::span<const float> values) {
  constexpr double kOutside = std::numeric_limits<double>::infinity();
  if (expected.balls.size() != values.size()) return kOutside;
  double result = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Ball& ball = expected.balls[i];
    const double distance = std::abs(values[i] - ball.mid);
    if (std::isnan(distance)) return kOutside;
    if (distance > 0) result = std::max(result, ball.rad > 0 ? distance / ball.rad : kOutside);
  }
  return result;
}

double worst(const BallWeights& expected, const HostWeights& values) {
  return std::max(
      {worst(expected.hidden, values.hidden), worst(expected.hidden_bias, values.hidden_bias),
       worst(expected.output, values.output), worst(expected.output_bias, values.output_bias)});
}

double widest(const BallWeights& weights) {
  double result = 0;
  const auto look = [&](const BallMatrix& leaf) {
    for (const Ball& ball : leaf.balls) result = std::max(result, ball.rad);
  };
  std::apply([&](const auto&... leaves) { (look(leaves), ...); }, BallWeights::members(weights));
  return result;
}

}  // namespace own_training
