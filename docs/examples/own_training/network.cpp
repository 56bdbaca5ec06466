// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "network.h"

#include "kernels.h"
#include <belfry/launch.h>
#include <belfry/tensor_ops.h>

#include <cmath>
#include <utility>

namespace own_training {
namespace {

using belfry::launch;
using belfry::reads;
using belfry::Tensor;
using belfry::updates;
using belfry::writes;

Tensor<float> uniform(Shape shape, std::uint64_t seed) {
  const float limit = std::sqrt(6.0F / static_cast<float>(shape.extent(0)));
  return belfry::random_uniform(std::move(shape), seed) * (2 * limit) - limit;
}

// [forward]
Tensor<float> layer(const Tensor<float>& x, const Tensor<float>& weights, const Tensor<float>& bias,
                    bool rectified) {
  auto y = Tensor<float>::uninitialised({x.shape().extent(0), bias.shape().extent(0)});
  launch(Layer{rectified}, reads(x), reads(weights), reads(bias), writes(y));
  return y;
}
// [forward]

}  // namespace

Network initial_weights(const Layout& layout, std::uint64_t seed) {
  return {uniform({layout.inputs, layout.hidden}, 2 * seed), Tensor<float>::zeros({layout.hidden}),
          uniform({layout.hidden, layout.classes}, 2 * seed + 1),
          Tensor<float>::zeros({layout.classes})};
}

Network on_device(const Layout& layout, const HostWeights& weights) {
  return {Tensor<float>::from({layout.inputs, layout.hidden}, weights.hidden),
          Tensor<float>::from({layout.hidden}, weights.hidden_bias),
          Tensor<float>::from({layout.hidden, layout.classes}, weights.output),
          Tensor<float>::from({layout.classes}, weights.output_bias)};
}

HostWeights on_host(const Network& network) {
  return {network.hidden.to_host(), network.hidden_bias.to_host(), network.output.to_host(),
          network.output_bias.to_host()};
}

Tensor<float> scores(const Network& network, const Tensor<float>& x) {
  const auto hidden = layer(x, network.hidden, network.hidden_bias, true);
  return layer(hidden, network.output, network.output_bias, false);
}

// [pass]
Pass pass(const Network& network, const Batch& batch, float scale) {
  const auto hidden = layer(batch.x, network.hidden, network.hidden_bias, true);
  const auto scores = layer(hidden, network.output, network.output_bias, false);

  const auto like = [](const Tensor<float>& x) { return Tensor<float>::uninitialised(x.shape()); };
  auto slopes = like(scores), below = like(hidden);
  auto losses = Tensor<float>::uninitialised(batch.labels.shape());
  launch(Loss{scale}, reads(scores), reads(batch.labels), writes(slopes), writes(losses));
  launch(SlopesBelow{network.output.shape().extent(1)}, reads(slopes), reads(network.output),
         reads(hidden), writes(below));

  Network gradient{like(network.hidden), like(network.hidden_bias), like(network.output),
                   like(network.output_bias)};
  launch(LayerGradient(), reads(batch.x), reads(below), writes(gradient.hidden),
         writes(gradient.hidden_bias));
  launch(LayerGradient(), reads(hidden), reads(slopes), writes(gradient.output),
         writes(gradient.output_bias));
  return {std::move(gradient), std::move(losses)};
}
// [pass]

void descend(Network& network, const Network& gradient, float rate) {
  const Descent step{rate};
  launch(step, updates(network.hidden), reads(gradient.hidden));
  launch(step, updates(network.hidden_bias), reads(gradient.hidden_bias));
  launch(step, updates(network.output), reads(gradient.output));
  launch(step, updates(network.output_bias), reads(gradient.output_bias));
}

}  // namespace own_training
