// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// A kernel that uses a library on GPUs: docs/kernels.md.
#pragma once

#include <belfry/shape.h>

#include <cstddef>
#include <span>

#ifdef WITH_CUDA
#include <cuda_runtime.h>
#endif

// [dense]
/// y = x * weight + bias: x has a row for each example, and bias is added to each row.
struct DenseLayer {
  int rows;
  int inputs;
  int outputs;

  bool check(const belfry::Shape& y, const belfry::Shape& x, const belfry::Shape& weight,
             const belfry::Shape& bias) const {
    return y == belfry::Shape{rows, outputs} && x == belfry::Shape{rows, inputs} &&
           weight == belfry::Shape{inputs, outputs} && bias == belfry::Shape{outputs};
  }
  void on_host(std::span<float> y, std::span<const float> x, std::span<const float> weight,
               std::span<const float> bias) const;
#ifdef WITH_CUDA
  void on_cuda(cudaStream_t stream, std::span<float> y, std::span<const float> x,
               std::span<const float> weight, std::span<const float> bias) const;
#endif
};
// [dense]

inline void DenseLayer::on_host(std::span<float> y, std::span<const float> x,
                                std::span<const float> weight, std::span<const float> bias) const {
  const auto num_inputs = static_cast<std::size_t>(inputs);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t row = i / bias.size();
    const std::size_t output = i % bias.size();
    y[i] = bias[output];
    for (std::size_t k = 0; k < num_inputs; ++k) {
      y[i] += x[row * num_inputs + k] * weight[k * bias.size() + output];
    }
  }
}
