// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Bodies of the kernels for GPUs: a thread for each element of the result. The simplest code, not
// the fastest.
#include "kernels.h"

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace own_training {
namespace {

constexpr unsigned kThreads = 128;

unsigned blocks(std::size_t threads) {
  return static_cast<unsigned>((threads + kThreads - 1) / kThreads);
}

__device__ std::size_t number_of_thread() {
  return std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
}

// Of a layer.
struct Sizes {
  std::size_t rows;
  std::size_t inputs;
  std::size_t outputs;
};

__global__ void layer(const float* x, const float* weights, const float* bias, float* y,
                      Sizes sizes, bool rectified) {
  const std::size_t i = number_of_thread();
  if (i >= sizes.rows * sizes.outputs) return;
  const std::size_t row = i / sizes.outputs;
  const std::size_t column = i % sizes.outputs;
  float sum = bias[column];
  for (std::size_t k = 0; k < sizes.inputs; ++k) {
    sum += x[row * sizes.inputs + k] * weights[k * sizes.outputs + column];
  }
  y[i] = rectified && sum <= 0 ? 0 : sum;
}

__global__ void loss(const float* scores, const std::int32_t* labels, float* slopes, float* losses,
                     Sizes sizes, float scale) {
  const std::size_t row = number_of_thread();
  if (row >= sizes.rows) return;
  const std::size_t classes = sizes.outputs;
  const float* in = scores + row * classes;
  float* out = slopes + row * classes;
  float largest = in[0];
  for (std::size_t k = 1; k < classes; ++k) largest = fmaxf(largest, in[k]);
  float total = 0;
  for (std::size_t k = 0; k < classes; ++k) {
    out[k] = expf(in[k] - largest);
    total += out[k];
  }
  const auto label = static_cast<std::size_t>(labels[row]);
  losses[row] = logf(total) - (in[label] - largest);
  for (std::size_t k = 0; k < classes; ++k) {
    out[k] = (out[k] / total - (k == label ? 1.0F : 0.0F)) * scale;
  }
}

// The threads after the threads of the weights compute the bias.
__global__ void layer_gradient(const float* x, const float* slopes, float* weights, float* bias,
                               Sizes sizes) {
  const std::size_t i = number_of_thread();
  const std::size_t input = i / sizes.outputs;
  const std::size_t column = i % sizes.outputs;
  if (input > sizes.inputs) return;
  float sum = 0;
  for (std::size_t row = 0; row < sizes.rows; ++row) {
    const float factor = input < sizes.inputs ? x[row * sizes.inputs + input] : 1;
    sum += factor * slopes[row * sizes.outputs + column];
  }
  (input < sizes.inputs ? weights[i] : bias[column]) = sum;
}

__global__ void slopes_below(const float* slopes, const float* weights, const float* y,
                             float* below, Sizes sizes) {
  const std::size_t i = number_of_thread();
  if (i >= sizes.rows * sizes.inputs) return;
  const std::size_t row = i / sizes.inputs;
  const std::size_t column = i % sizes.inputs;
  float sum = 0;
  for (std::size_t k = 0; k < sizes.outputs; ++k) {
    sum += slopes[row * sizes.outputs + k] * weights[column * sizes.outputs + k];
  }
  below[i] = y[i] > 0 ? sum : 0;
}

__global__ void descent(float* weights, const float* gradient, std::size_t count, float rate) {
  const std::size_t i = number_of_thread();
  if (i < count) weights[i] -= rate * gradient[i];
}

}  // namespace

// CUDA refuses a launch of no blocks: the bodies return early for a share without examples.

// [on_cuda]
void Layer::on_cuda(cudaStream_t stream, Input x, Input weights, Input bias, Output y) const {
  if (y.empty()) return;
  const std::size_t outputs = bias.size();
  const Sizes sizes{y.size() / outputs, weights.size() / outputs, outputs};
  layer<<<blocks(y.size()), kThreads, 0, stream>>>(x.data(), weights.data(), bias.data(), y.data(),
                                                   sizes, rectified);
}
// [on_cuda]

void Loss::on_cuda(cudaStream_t stream, Input scores, Labels labels, Output slopes,
                   Output losses) const {
  if (labels.empty()) return;
  const Sizes sizes{labels.size(), 0, scores.size() / labels.size()};
  loss<<<blocks(labels.size()), kThreads, 0, stream>>>(scores.data(), labels.data(), slopes.data(),
                                                       losses.data(), sizes, scale);
}

void LayerGradient::on_cuda(cudaStream_t stream, Input x, Input slopes, Output weights,
                            Output bias) const {
  const std::size_t outputs = bias.size();
  const Sizes sizes{slopes.size() / outputs, weights.size() / outputs, outputs};
  layer_gradient<<<blocks(weights.size() + outputs), kThreads, 0, stream>>>(
      x.data(), slopes.data(), weights.data(), bias.data(), sizes);
}

void SlopesBelow::on_cuda(cudaStream_t stream, Input slopes, Input weights, Input y,
                          Output below) const {
  if (below.empty()) return;
  const auto columns = static_cast<std::size_t>(classes);
  const Sizes sizes{slopes.size() / columns, weights.size() / columns, columns};
  slopes_below<<<blocks(below.size()), kThreads, 0, stream>>>(slopes.data(), weights.data(),
                                                              y.data(), below.data(), sizes);
}

void Descent::on_cuda(cudaStream_t stream, Output weights, Input gradient) const {
  descent<<<blocks(weights.size()), kThreads, 0, stream>>>(weights.data(), gradient.data(),
                                                           weights.size(), rate);
}

}  // namespace own_training
