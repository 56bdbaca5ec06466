// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/tensor.h"

#include <cstdint>
#include <tuple>

namespace belfry::demo {

/// The weights of a perceptron with a hidden layer, or values with a number for each weight:
/// gradients, velocities.
template <class T>
struct Weights {
  Tensor<T> hidden;       ///< [inputs, hidden].
  Tensor<T> hidden_bias;  ///< [hidden].
  Tensor<T> output;       ///< [hidden, outputs].
  Tensor<T> output_bias;  ///< [outputs].

  static auto members(auto& self) {
    return std::tie(self.hidden, self.hidden_bias, self.output, self.output_bias);
  }
};

/// The factors of the gradient of the loss: each element of a gradient is the sum over the examples
/// of an activation times a slope. The factors of an example do not depend on other examples in the
/// batch.
template <class T>
struct GradientTerms {
  Tensor<T> images;         ///< [rows, inputs].
  Tensor<T> activations;    ///< [rows, hidden]: outputs of the hidden layer.
  Tensor<T> hidden_slopes;  ///< [rows, hidden]: of each example's loss, before the ReLU.
  Tensor<T> output_slopes;  ///< [rows, outputs]: before the softmax.
  Tensor<T> losses;         ///< [rows].
};

/// Weights to start from: uniform within sqrt(6 / inputs) of 0, biases 0, on the current device.
Weights<float> initial_weights(std::uint64_t seed);
/// The same shapes, all 0, on the current device.
Weights<float> zero_weights();

/// The outputs of the network before the softmax: [rows, outputs].
template <class T>
Tensor<T> logits(const Weights<T>& weights, const Tensor<T>& images);

/// Forward and backward through ReLU, softmax and cross-entropy.
template <class T>
GradientTerms<T> gradient_terms(const Weights<T>& weights, const Tensor<T>& images,
                                const Tensor<T>& targets);

/// The gradient of the sum of the examples' losses: the sums of the terms.
template <class T>
Weights<T> sums(const GradientTerms<T>& terms);

/// The sums of the terms' absolute values, which bound the effect of rounding on `sums`.
template <class T>
Weights<T> magnitudes(const GradientTerms<T>& terms);

/// The sum of the examples' losses: [1].
template <class T>
Tensor<T> total_loss(const GradientTerms<T>& terms);

}  // namespace belfry::demo
