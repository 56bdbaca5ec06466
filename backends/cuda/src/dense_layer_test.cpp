// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The layer of docs/examples, on the simulated driver and, with cuBLAS, on a GPU, against numbers
// of double precision.
#include "dense_layer.h"

#include "belfry/cuda/backend.h"
#include "belfry/launch.h"
#include "belfry/tensor.h"
#include "numbers_test.h"
#include "support_test.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace belfry::cuda::dense_layer_test {
namespace {

using test::kUnit;

struct Operands {
  DenseLayer layer;
  std::vector<float> x, weight, bias;
};

Operands operands(const DenseLayer& layer) {
  const auto rows = static_cast<std::size_t>(layer.rows);
  const auto inputs = static_cast<std::size_t>(layer.inputs);
  const auto outputs = static_cast<std::size_t>(layer.outputs);
  return {layer, test::numbers(rows * inputs, 1), test::numbers(inputs * outputs, 2),
          test::numbers(outputs, 3)};
}

std::vector<float> on_device(const Operands& given, const Placement& on) {
  const DenseLayer& layer = given.layer;
  auto y = Tensor<float>::uninitialised({layer.rows, layer.outputs}, on);
  launch(layer, writes(y), reads(Tensor<float>::from({layer.rows, layer.inputs}, given.x, on)),
         reads(Tensor<float>::from({layer.inputs, layer.outputs}, given.weight, on)),
         reads(Tensor<float>::from({layer.outputs}, given.bias, on)));
  return y.to_host();
}

// The element is a sum of bias and `inputs` products. In every order of the additions, with fused
// products or without, each term passes through inputs + 1 roundings at most, and a rounding
// changes a number by kUnit of the number at most: the sum differs by less than (inputs + 2) *
// kUnit of the sum of the absolute terms.
void expect_element(const Operands& given, std::size_t element, float result) {
  const auto inputs = static_cast<std::size_t>(given.layer.inputs);
  const std::size_t outputs = given.bias.size();
  const std::size_t row = element / outputs;
  const std::size_t output = element % outputs;
  double sum = given.bias[output];
  double size = std::abs(sum);
  for (std::size_t k = 0; k < inputs; ++k) {
    const double term = double{given.x[row * inputs + k]} * given.weight[k * outputs + output];
    sum += term;
    size += std::abs(term);
  }
  EXPECT_NEAR(result, sum, static_cast<double>(inputs + 2) * kUnit * size) << "element " << element;
}

TEST(DenseLayerExample, IsWithinItsRoundings) {
  Backend backend{{.devices = {0, 0}}};
  for (const DenseLayer layer :
       {DenseLayer{1, 1, 1}, {3, 5, 7}, {64, 128, 32}, {17, 300, 1}, {1, 2, 600}}) {
    const Operands given = operands(layer);
    // Twice on each of two streams: the second launch finds the handle of the first.
    for (const int device : {0, 1, 0, 1}) {
      SCOPED_TRACE(::testing::Message() << layer.rows << " rows, " << layer.inputs << " inputs, "
                                        << layer.outputs << " outputs, device " << device);
      const std::vector<float> results = on_device(given, {&backend, device});
      ASSERT_EQ(results.size(), given.bias.size() * static_cast<std::size_t>(layer.rows));
      for (std::size_t i = 0; i < results.size(); ++i) expect_element(given, i, results[i]);
    }
  }
}

TEST(DenseLayerExample, RefusesShapesThatDoNotFit) {
  Backend backend{{.devices = {0}}};
  const Placement on{&backend, 0};
  auto y = Tensor<float>::uninitialised({2, 4}, on);
  const auto x = Tensor<float>::full({2, 3}, 1, on);
  const auto weight = Tensor<float>::full({4, 3}, 1, on);  // for [3, 4]
  const auto bias = Tensor<float>::full({4}, 1, on);
  EXPECT_EQ(test::code_of([&] {
              launch(DenseLayer{2, 3, 4}, writes(y), reads(x), reads(weight), reads(bias));
            }),
            ErrorCode::kShape);
}

}  // namespace
}  // namespace belfry::cuda::dense_layer_test
