// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "perceptron.h"

#include "belfry/backend/host_backend.h"
#include "belfry/nest.h"
#include "belfry/tensor_ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace belfry::demo::perceptron_test {
namespace {

using ::testing::ElementsAre;

class Perceptron : public ::testing::Test {
 protected:
  template <class T>
  Tensor<T> make(Shape shape, std::vector<T> values) {
    return Tensor<T>::from(std::move(shape), values, Placement{&backend_, 0});
  }
  HostBackend backend_{1};
};

// Two inputs, hidden units and outputs, and two examples, by hand; all numbers are exact.
//
// Example 1, x = (2, 1), target (1, 0): before the ReLU (2.5, 0.5), both scores 6.5, softmax (1/2,
// 1/2), loss log 2, output slopes (-1/2, 1/2) and hidden slopes (1, -5). Example 2, x = (-2, 1),
// target (0, 1): before the ReLU (-1.5, 4.5), with the first unit dead; scores (36, -9), softmax
// (1, 0) to the precision of binary32, loss 45, output slopes (1, -1) and hidden slopes (0, 10).
TEST_F(Perceptron, GradientsOfACaseWorkedByHand) {
  const Weights<float> weights{make<float>({2, 2}, {1, -1, 0.5, 2}), make<float>({2}, {0, 0.5}),
                               make<float>({2, 2}, {1, 3, 8, -2}), make<float>({2}, {0, 0})};
  const auto terms = gradient_terms(weights, make<float>({2, 2}, {2, 1, -2, 1}),
                                    make<float>({2, 2}, {1, 0, 0, 1}));
  EXPECT_THAT(terms.activations.to_host(), ElementsAre(2.5, 0.5, 0, 4.5));
  EXPECT_THAT(terms.output_slopes.to_host(), ElementsAre(-0.5, 0.5, 1, -1));
  EXPECT_THAT(terms.hidden_slopes.to_host(), ElementsAre(1, -5, 0, 10));

  const auto gradient = sums(terms);
  EXPECT_THAT(gradient.hidden.to_host(), ElementsAre(2, -30, 1, 5));
  EXPECT_THAT(gradient.hidden_bias.to_host(), ElementsAre(1, 5));
  EXPECT_THAT(gradient.output.to_host(), ElementsAre(-1.25, 1.25, 4.25, -4.25));
  EXPECT_THAT(gradient.output_bias.to_host(), ElementsAre(0.5, -0.5));

  const auto magnitude = magnitudes(terms);
  EXPECT_THAT(magnitude.hidden.to_host(), ElementsAre(2, 30, 1, 15));
  EXPECT_THAT(magnitude.hidden_bias.to_host(), ElementsAre(1, 15));
  EXPECT_THAT(magnitude.output.to_host(), ElementsAre(1.25, 1.25, 4.75, 4.75));
  EXPECT_THAT(magnitude.output_bias.to_host(), ElementsAre(1.5, 1.5));

  // The logarithm is within 2^-24, a unit in the last place, and the sum is rounded by at most half
  // a unit, 2^-19: together less than 2^-18.
  EXPECT_NEAR(total_loss(terms).item(), std::log(2.0) + 45, 0x1p-18);
  EXPECT_THAT(logits(weights, make<float>({1, 2}, {2, 1})).to_host(), ElementsAre(6.5, 6.5));
}

// A central difference of the loss with step h in one weight is off by at most h^2 / 6 times the
// third derivative, plus the loss's own rounding over h. An example's loss along a line on which no
// ReLU bends is log sum exp of linear functions, whose third derivative is the third cumulant of
// their slopes under the softmax: at most R^3 for slopes that differ by at most R. Here inputs and
// output weights are within 1 and activations within 2 (asserted below), so R <= 2 for every
// weight: with h = 2^-13 and three examples, 3 * 8 * 2^-26 / 6 < 6.0e-8. The loss is a sum of fewer
// than 200 rounded operations on numbers below 10: 200 * 10 * 2^-53 / h < 2e-9.
TEST_F(Perceptron, GradientsAreSlopesOfTheLoss) {
  constexpr double kStep = 0x1p-13;
  constexpr double kTolerance = 6.5e-8;
  const auto waves = [](int count, double pace) {
    std::vector<double> values;
    for (int i = 0; i < count; ++i) values.push_back(std::sin(pace * (i + 1)));
    return values;
  };
  const auto images = make<double>({3, 3}, waves(9, 1.1));
  const auto targets = make<double>({3, 3}, {0, 1, 0, 1, 0, 0, 0, 1, 0});
  std::vector<std::vector<double>> values{waves(12, 0.7), waves(4, 2.3), waves(12, 1.9),
                                          waves(3, 0.3)};
  const std::vector<Shape> shapes{{3, 4}, {4}, {4, 3}, {3}};
  const auto terms_of = [&] {
    std::vector<Tensor<double>> leaves;
    for (std::size_t i = 0; i < 4; ++i) leaves.push_back(make<double>(shapes[i], values[i]));
    const Weights<double> weights{leaves[0], leaves[1], leaves[2], leaves[3]};
    const auto before = matmul(images, weights.hidden) + weights.hidden_bias;
    for (const double z : before.to_host()) EXPECT_GT(std::abs(z), 2 * kStep) << "a ReLU may bend";
    return gradient_terms(weights, images, targets);
  };
  const auto terms = terms_of();
  for (const double h : terms.activations.to_host()) EXPECT_LE(h, 2);
  auto gradient = sums(terms);
  std::size_t leaf = 0;
  for_each_leaf(gradient, [&](const Tensor<double>& slopes) {
    const auto expected = slopes.to_host();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      double& weight = values[leaf][i];
      const double kept = weight;
      weight = kept + kStep;
      const double above = total_loss(terms_of()).item();
      weight = kept - kStep;
      const double below = total_loss(terms_of()).item();
      weight = kept;
      EXPECT_NEAR(expected[i], (above - below) / (2 * kStep), kTolerance) << leaf << ' ' << i;
    }
    ++leaf;
  });
  EXPECT_EQ(leaf, 4U);
}

// The terms of an example do not depend on other examples in the batch: the basis of the comparison
// with a single device.
TEST_F(Perceptron, TermsOfAnExampleHaveTheSameBitsInEveryBatch) {
  const Placement here{&backend_, 0};
  const Weights<float> weights{random_normal({64, 64}, 1, 0, here), random_normal({64}, 2, 0, here),
                               random_normal({64, 10}, 3, 0, here),
                               random_normal({10}, 4, 0, here)};
  const auto images = random_uniform({7, 64}, 5, 0, here);
  const auto targets = random_uniform({7, 10}, 6, 0, here);
  const auto all = gradient_terms(weights, images, targets);
  for (std::int64_t row = 0; row < 7; ++row) {
    const auto index = make<std::int64_t>({1}, {row});
    const auto alone =
        gradient_terms(weights, gather_rows(images, index), gather_rows(targets, index));
    EXPECT_EQ(alone.hidden_slopes.to_host(), gather_rows(all.hidden_slopes, index).to_host());
    EXPECT_EQ(alone.output_slopes.to_host(), gather_rows(all.output_slopes, index).to_host());
    EXPECT_EQ(alone.activations.to_host(), gather_rows(all.activations, index).to_host());
  }
}

TEST_F(Perceptron, ABatchOfNothingHasNoGradient) {
  const Placement here{&backend_, 0};
  const Weights<float> weights{random_normal({64, 64}, 1, 0, here), random_normal({64}, 2, 0, here),
                               random_normal({64, 10}, 3, 0, here),
                               random_normal({10}, 4, 0, here)};
  const auto terms = gradient_terms(weights, make<float>({0, 64}, {}), make<float>({0, 10}, {}));
  auto gradient = sums(terms);
  for_each_leaf(gradient, [](const Tensor<float>& leaf) {
    for (const float x : leaf.to_host()) EXPECT_EQ(x, 0);
  });
  EXPECT_EQ(total_loss(terms).item(), 0);
}

}  // namespace
}  // namespace belfry::demo::perceptron_test
