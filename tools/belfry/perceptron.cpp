// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "perceptron.h"

#include "belfry/tensor_ops.h"
#include "digits.h"

#include <cmath>
#include <utility>

namespace belfry::demo {
namespace {

constexpr std::int64_t kHidden = 64;

Tensor<float> uniform(Shape shape, std::uint64_t seed, std::uint64_t offset) {
  const float limit = std::sqrt(6.0F / static_cast<float>(shape.extent(0)));
  return random_uniform(std::move(shape), seed, offset) * (2 * limit) - limit;
}

}  // namespace

Weights<float> initial_weights(std::uint64_t seed) {
  Weights<float> weights = zero_weights();
  weights.hidden = uniform({kPixels, kHidden}, seed, 0);
  weights.output = uniform({kHidden, kDigits}, seed, kPixels * kHidden);
  return weights;
}

Weights<float> zero_weights() {
  return {Tensor<float>::zeros({kPixels, kHidden}), Tensor<float>::zeros({kHidden}),
          Tensor<float>::zeros({kHidden, kDigits}), Tensor<float>::zeros({kDigits})};
}

template <class T>
Tensor<T> logits(const Weights<T>& weights, const Tensor<T>& images) {
  const auto hidden = relu(matmul(images, weights.hidden) + weights.hidden_bias);
  return matmul(hidden, weights.output) + weights.output_bias;
}

template <class T>
GradientTerms<T> gradient_terms(const Weights<T>& weights, const Tensor<T>& images,
                                const Tensor<T>& targets) {
  const auto before = matmul(images, weights.hidden) + weights.hidden_bias;
  const auto hidden = relu(before);
  const auto scores = matmul(hidden, weights.output) + weights.output_bias;

  // The largest score of a row is subtracted first: no exponential overflows.
  const auto shifted = scores - as_column(row_max(scores));
  const auto exponentials = exp(shifted);
  const auto totals = row_sum(exponentials);
  const auto slopes = exponentials / as_column(totals) - targets;
  return {.images = images,
          .activations = hidden,
          .hidden_slopes = matmul(slopes, weights.output, {.transpose_b = true}) * step(before),
          .output_slopes = slopes,
          .losses = log(totals) - row_sum(shifted * targets)};
}

template <class T>
Weights<T> sums(const GradientTerms<T>& terms) {
  return {matmul(terms.images, terms.hidden_slopes, {.transpose_a = true}),
          column_sum(terms.hidden_slopes),
          matmul(terms.activations, terms.output_slopes, {.transpose_a = true}),
          column_sum(terms.output_slopes)};
}

template <class T>
Weights<T> magnitudes(const GradientTerms<T>& terms) {
  return sums<T>({.images = abs(terms.images),
                  .activations = abs(terms.activations),
                  .hidden_slopes = abs(terms.hidden_slopes),
                  .output_slopes = abs(terms.output_slopes),
                  .losses = terms.losses});
}

template <class T>
Tensor<T> total_loss(const GradientTerms<T>& terms) {
  return column_sum(as_column(terms.losses));
}

template Tensor<float> logits(const Weights<float>&, const Tensor<float>&);
template GradientTerms<float> gradient_terms(const Weights<float>&, const Tensor<float>&,
                                             const Tensor<float>&);
template Weights<float> sums(const GradientTerms<float>&);
template Weights<float> magnitudes(const GradientTerms<float>&);
template Tensor<float> total_loss(const GradientTerms<float>&);

// For tests that compare gradients with differences of the loss and need more digits.
template GradientTerms<double> gradient_terms(const Weights<double>&, const Tensor<double>&,
                                              const Tensor<double>&);
template Weights<double> sums(const GradientTerms<double>&);
template Tensor<double> total_loss(const GradientTerms<double>&);

}  // namespace belfry::demo
