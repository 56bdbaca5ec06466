// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The gradient against derivatives that are computed forwards, with the chain rule for each
// operation, in double.
#include "numbers.h"
#include "reference.h"
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>
#include <belfry/testing/arbitrary.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <tuple>
#include <vector>

namespace own_training {
namespace {

// A number, and its derivative by one weight.
struct Dual {
  double value = 0;
  double slope = 0;

  friend Dual operator+(Dual a, Dual b) { return {a.value + b.value, a.slope + b.slope}; }
  friend Dual operator-(Dual a, Dual b) { return {a.value - b.value, a.slope - b.slope}; }
  friend Dual operator*(Dual a, Dual b) {
    return {a.value * b.value, a.value * b.slope + a.slope * b.value};
  }
};
Dual exp(Dual x) { return {std::exp(x.value), std::exp(x.value) * x.slope}; }
Dual log(Dual x) { return {std::log(x.value), x.slope / x.value}; }

using DualWeights = Weights<std::vector<Dual>>;

DualWeights duals(const HostWeights& weights) {
  const auto leaf = [](const std::vector<float>& values) {
    std::vector<Dual> result;
    for (const float value : values) result.push_back({value, 0});
    return result;
  };
  return {leaf(weights.hidden), leaf(weights.hidden_bias), leaf(weights.output),
          leaf(weights.output_bias)};
}

std::vector<Dual> layer(const std::vector<Dual>& x, const std::vector<Dual>& weights,
                        std::vector<Dual> bias) {
  const std::size_t outputs = bias.size();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    bias[i % outputs] = bias[i % outputs] + x[i / outputs] * weights[i];
  }
  return bias;
}

// The loss of an example: -log softmax, with logits small enough for exp.
Dual loss(const DualWeights& weights, const std::vector<Dual>& x, std::size_t label) {
  std::vector<Dual> hidden = layer(x, weights.hidden, weights.hidden_bias);
  for (Dual& y : hidden) y = y.value > 0 ? y : Dual{};
  const std::vector<Dual> scores = layer(hidden, weights.output, weights.output_bias);
  Dual total;
  for (const Dual& score : scores) total = total + exp(score);
  return log(total) - scores[label];
}

double derivative(const DualWeights& weights, const Examples& examples) {
  double sum = 0;
  const auto inputs = static_cast<std::size_t>(examples.inputs);
  for (std::size_t row = 0; row < examples.labels.size(); ++row) {
    std::vector<Dual> x;
    for (std::size_t i = 0; i < inputs; ++i) x.push_back({examples.values[row * inputs + i], 0});
    sum += loss(weights, x, static_cast<std::size_t>(examples.labels[row])).slope;
  }
  return sum;
}

// The derivatives by all weights of a leaf of `weights`.
std::vector<double> derivatives(DualWeights& weights, std::vector<Dual>& leaf,
                                const Examples& examples) {
  std::vector<double> result;
  for (Dual& weight : leaf) {
    weight.slope = 1;
    result.push_back(derivative(weights, examples));
    weight.slope = 0;
  }
  return result;
}

void require_inside(const BallMatrix& expected, const std::vector<double>& exact,
                    const std::vector<float>& computed) {
  RC_ASSERT(worst(expected, computed) <= 1);
  for (std::size_t i = 0; i < exact.size(); ++i) RC_ASSERT(expected.balls[i].contains(exact[i]));
}

RC_GTEST_PROP(OwnGradient, IsTheDerivativeOfTheLoss, (const belfry::sim::Options& options)) {
  const int count = *rc::gen::inRange(0, 12).as("examples");
  const Layout layout{*rc::gen::inRange(1, 6).as("inputs"), *rc::gen::inRange(1, 6).as("hidden"),
                      *rc::gen::inRange(1, 5).as("classes")};
  const auto seed = *rc::gen::inRange(0U, 1U << 20).as("seed of the numbers");
  const Examples data = drawn_examples(count, layout.inputs, layout.classes, seed);
  const HostWeights weights{
      numbers(layout.inputs * layout.hidden, seed + 2), numbers(layout.hidden, seed + 3),
      numbers(layout.hidden * layout.classes, seed + 4), numbers(layout.classes, seed + 5)};
  std::vector<int> rows(static_cast<std::size_t>(count));
  std::iota(rows.begin(), rows.end(), 0);

  belfry::sim::Backend backend{options};
  belfry::OneDeviceStrategy strategy{backend, belfry::DeviceSpec::parse("/sim:0")};
  const auto gradients = strategy.run([&](belfry::ReplicaContext&) {
    return on_host(pass(on_device(layout, weights), make_batch(data, rows), 1).gradient);
  });
  const HostWeights& gradient = gradients[0];

  const BallWeights expected = expected_pass(exact(weights), data, rows, 1).gradient;
  DualWeights dual = duals(weights);
  require_inside(expected.hidden, derivatives(dual, dual.hidden, data), gradient.hidden);
  require_inside(expected.hidden_bias, derivatives(dual, dual.hidden_bias, data),
                 gradient.hidden_bias);
  require_inside(expected.output, derivatives(dual, dual.output, data), gradient.output);
  require_inside(expected.output_bias, derivatives(dual, dual.output_bias, data),
                 gradient.output_bias);
}

}  // namespace
}  // namespace own_training
