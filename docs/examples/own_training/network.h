// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "examples.h"
#include <belfry/tensor.h>

#include <cstdint>
#include <tuple>
#include <vector>

namespace own_training {

/// The weights of a network with a hidden layer, or a number for each weight, for example a
/// gradient.
template <class Leaf>
struct Weights {
  Leaf hidden;       ///< [inputs, hidden].
  Leaf hidden_bias;  ///< [hidden].
  Leaf output;       ///< [hidden, classes].
  Leaf output_bias;  ///< [classes].

  static auto members(auto& self) {
    return std::tie(self.hidden, self.hidden_bias, self.output, self.output_bias);
  }
};
using Network = Weights<belfry::Tensor<float>>;
using HostWeights = Weights<std::vector<float>>;

/// The sizes of the layers.
struct Layout {
  int inputs = 64;
  int hidden = 32;
  int classes = 10;
};

/// Weights to start from: uniform within sqrt(6 / inputs) of 0 for each layer, biases of 0, on the
/// current device.
Network initial_weights(const Layout& layout, std::uint64_t seed);
/// Weights of the host on the current device.
Network on_device(const Layout& layout, const HostWeights& weights);
/// A copy of the weights in memory of the host. Order: blocks the host.
HostWeights on_host(const Network& network);

/// The scores [rows, classes]: the class with the largest score is the answer of the network.
belfry::Tensor<float> scores(const Network& network, const belfry::Tensor<float>& x);

/// The results of a pass forward and backward.
struct Pass {
  Network gradient;              ///< Of scale * (the sum of the losses).
  belfry::Tensor<float> losses;  ///< [rows]: the loss of each example.
};
Pass pass(const Network& network, const Batch& batch, float scale);

/// weights -= rate * gradient.
void descend(Network& network, const Network& gradient, float rate);

}  // namespace own_training
