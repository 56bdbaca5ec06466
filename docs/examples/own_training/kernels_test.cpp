// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Each kernel against the second implementation. The simulator compares the accesses of the bodies
// with the operands of the launches.
#include "kernels.h"

#include "numbers.h"
#include "reference.h"
#include <belfry/belfry.h>
#include <belfry/launch.h>
#include <belfry/sim/backend.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <vector>

namespace own_training {
namespace {

using belfry::launch;
using belfry::Placement;
using belfry::reads;
using belfry::Tensor;
using belfry::updates;
using belfry::writes;

// A device with checks of accesses, and the numbers of a case.
class Rig {
 public:
  Tensor<float> tensor(const Shape& shape, const std::vector<float>& values) {
    return Tensor<float>::from(shape, values, on_);
  }
  Tensor<float> result(const Shape& shape) { return Tensor<float>::uninitialised(shape, on_); }
  Placement on() const { return on_; }

  const int rows = *rc::gen::inRange(0, 40).as("rows");
  const int inputs = *rc::gen::inRange(1, 20).as("inputs");
  const int outputs = *rc::gen::inRange(1, 20).as("outputs");
  const std::uint32_t seed = *rc::gen::inRange(0U, 1U << 20).as("seed of the numbers");

 private:
  belfry::sim::Backend backend_{{.devices = 1, .check_kernels = true}};
  Placement on_{&backend_, 0};
};

RC_GTEST_PROP(OwnKernels, LayerIsAProductAndABias, (bool rectified)) {
  Rig rig;
  const auto x = numbers(rig.rows * rig.inputs, rig.seed);
  const auto weights = numbers(rig.inputs * rig.outputs, rig.seed + 1);
  const auto bias = numbers(rig.outputs, rig.seed + 2);
  auto y = rig.result({rig.rows, rig.outputs});
  launch(Layer{rectified}, reads(rig.tensor({rig.rows, rig.inputs}, x)),
         reads(rig.tensor({rig.inputs, rig.outputs}, weights)),
         reads(rig.tensor({rig.outputs}, bias)), writes(y));
  const auto columns = static_cast<std::size_t>(rig.outputs);
  const auto before = expected_layer(exact(x, static_cast<std::size_t>(rig.inputs)),
                                     exact(weights, columns), exact(bias, columns));
  RC_ASSERT(worst(rectified ? expected_gate(before, before) : before, y.to_host()) <= 1);
}

RC_GTEST_PROP(OwnKernels, LossIsSoftmaxAndCrossEntropy, ()) {
  Rig rig;
  const float limit = *rc::gen::element(0.0F, 2.0F, 200.0F).as("the largest score");
  const auto scores = numbers(rig.rows * rig.outputs, rig.seed, limit);
  const auto labels = drawn_labels(rig.rows, rig.outputs, rig.seed + 1);
  const float scale = 0.3F;
  auto slopes = rig.result({rig.rows, rig.outputs});
  auto losses = rig.result({rig.rows});
  launch(Loss{scale}, reads(rig.tensor({rig.rows, rig.outputs}, scores)),
         reads(Tensor<std::int32_t>::from({rig.rows}, labels, rig.on())), writes(slopes),
         writes(losses));
  const auto expected =
      expected_loss(exact(scores, static_cast<std::size_t>(rig.outputs)), labels, scale);
  RC_ASSERT(worst(expected.slopes, slopes.to_host()) <= 1);
  RC_ASSERT(worst(BallMatrix{1, expected.losses}, losses.to_host()) <= 1);
}

RC_GTEST_PROP(OwnKernels, LayerGradientIsASumOverExamples, ()) {
  Rig rig;
  const auto x = numbers(rig.rows * rig.inputs, rig.seed);
  const auto slopes = numbers(rig.rows * rig.outputs, rig.seed + 1);
  auto weights = rig.result({rig.inputs, rig.outputs});
  auto bias = rig.result({rig.outputs});
  launch(LayerGradient(), reads(rig.tensor({rig.rows, rig.inputs}, x)),
         reads(rig.tensor({rig.rows, rig.outputs}, slopes)), writes(weights), writes(bias));
  const auto columns = static_cast<std::size_t>(rig.outputs);
  const auto of_x = exact(x, static_cast<std::size_t>(rig.inputs));
  const auto of_slopes = exact(slopes, columns);
  RC_ASSERT(worst(expected_weight_gradient(of_x, of_slopes), weights.to_host()) <= 1);
  RC_ASSERT(worst(expected_bias_gradient(of_slopes), bias.to_host()) <= 1);
}

RC_GTEST_PROP(OwnKernels, SlopesBelowPassThroughResultsAboveZero, ()) {
  Rig rig;
  const int hidden = rig.inputs;
  const auto slopes = numbers(rig.rows * rig.outputs, rig.seed);
  const auto weights = numbers(hidden * rig.outputs, rig.seed + 1);
  const auto y = numbers(rig.rows * hidden, rig.seed + 2);
  auto below = rig.result({rig.rows, hidden});
  launch(SlopesBelow{rig.outputs}, reads(rig.tensor({rig.rows, rig.outputs}, slopes)),
         reads(rig.tensor({hidden, rig.outputs}, weights)),
         reads(rig.tensor({rig.rows, hidden}, y)), writes(below));
  const auto columns = static_cast<std::size_t>(rig.outputs);
  const auto expected =
      expected_gate(exact(y, static_cast<std::size_t>(hidden)),
                    expected_below(exact(slopes, columns), exact(weights, columns)));
  RC_ASSERT(worst(expected, below.to_host()) <= 1);
}

RC_GTEST_PROP(OwnKernels, DescentSubtractsTheScaledGradient, ()) {
  Rig rig;
  const auto weights = numbers(rig.outputs, rig.seed);
  const auto gradient = numbers(rig.outputs, rig.seed + 1);
  auto result = rig.tensor({rig.outputs}, weights);
  launch(Descent{0.3F}, updates(result), reads(rig.tensor({rig.outputs}, gradient)));
  BallMatrix expected{1, {}};
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Ball weight{weights[i], 0};
    expected.balls.push_back(
        BallSum().add(weight).add_product({-0.3F, 0}, {gradient[i], 0}).result());
  }
  RC_ASSERT(worst(expected, result.to_host()) <= 1);
}

// The gradient of a layer, without the gradient of the bias.
struct Forgetful {
  void on_host(Input x, Input slopes, Output weights, Output) const {
    std::vector<float> bias(slopes.size());
    LayerGradient().on_host(x, slopes, weights, std::span(bias).first(weights.size() / x.size()));
  }
};

TEST(OwnKernels, AForgottenResultIsFound) {
  belfry::sim::Backend backend{{.devices = 1, .check_kernels = true}};
  const Placement on{&backend, 0};
  auto weights = Tensor<float>::uninitialised({2, 3}, on);
  auto bias = Tensor<float>::uninitialised({3}, on);
  launch(Forgetful(), reads(Tensor<float>::full({1, 2}, 1, on)),
         reads(Tensor<float>::full({1, 3}, 1, on)), writes(weights), writes(bias));
  try {
    bias.to_host();
    FAIL() << "the checks found nothing";
  } catch (const belfry::DeviceError& error) {
    EXPECT_EQ(error.code(), belfry::ErrorCode::kUninitialised);
  }
}

TEST(OwnKernels, RefuseOtherShapes) {
  belfry::sim::Backend backend{{.devices = 1}};
  const Placement on{&backend, 0};
  const auto x = Tensor<float>::full({4, 2}, 1, on);
  const auto weights = Tensor<float>::full({2, 3}, 1, on);
  const auto bias = Tensor<float>::full({2}, 1, on);  // 3 are right
  auto y = Tensor<float>::uninitialised({4, 3}, on);
  EXPECT_THROW(launch(Layer{true}, reads(x), reads(weights), reads(bias), writes(y)),
               belfry::InvalidArgumentError);
  auto gradient = Tensor<float>::full({3}, 1, on);
  EXPECT_THROW(launch(Descent{1}, updates(gradient), reads(bias)), belfry::InvalidArgumentError);
}

}  // namespace
}  // namespace own_training
