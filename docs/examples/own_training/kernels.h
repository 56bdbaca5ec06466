// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernels of the network. The bodies for the host are in on_host.cpp, the bodies for GPUs in
// on_cuda.cu. A build with CUDA defines OWN_TRAINING_CUDA for every file: each file then sees the
// same declarations of `on_cuda`.
#include <belfry/shape.h>

#include <cstdint>
#include <span>

#ifdef OWN_TRAINING_CUDA
#include <cuda_runtime_api.h>
#endif

namespace own_training {

using belfry::Shape;

using Input = std::span<const float>;
using Labels = std::span<const std::int32_t>;
using Output = std::span<float>;

// [layer]
/// y [n, outputs] = x [n, inputs] * weights [inputs, outputs] + bias [outputs], a row for each of n
/// examples. A rectified layer has 0 in place of negative numbers.
struct Layer {
  bool rectified;

  bool check(const Shape& x, const Shape& weights, const Shape& bias, const Shape& y) const {
    return weights == Shape{x.extent(1), bias.extent(0)} && y == Shape{x.extent(0), bias.extent(0)};
  }
  void on_host(Input x, Input weights, Input bias, Output y) const;
#ifdef OWN_TRAINING_CUDA
  void on_cuda(cudaStream_t stream, Input x, Input weights, Input bias, Output y) const;
#endif
};
// [layer]

/// Softmax and cross entropy of scores [n, classes]. losses[i] = -log(the share of the label), and
/// slopes [n, classes] is the derivative of scale * (the sum of all losses) by the scores.
struct Loss {
  float scale;

  bool check(const Shape& scores, const Shape& labels, const Shape& slopes,
             const Shape& losses) const {
    return slopes == scores && labels == Shape{scores.extent(0)} && losses == labels;
  }
  void on_host(Input scores, Labels labels, Output slopes, Output losses) const;
#ifdef OWN_TRAINING_CUDA
  void on_cuda(cudaStream_t stream, Input scores, Labels labels, Output slopes,
               Output losses) const;
#endif
};

/// The gradient of a layer with inputs x and the slopes [n, outputs] of its results before the
/// rectification: weights = x transposed * slopes, bias = the sum of the rows of slopes.
struct LayerGradient {
  bool check(const Shape& x, const Shape& slopes, const Shape& weights, const Shape& bias) const {
    return weights == Shape{x.extent(1), slopes.extent(1)} && bias == Shape{slopes.extent(1)} &&
           x.extent(0) == slopes.extent(0);
  }
  void on_host(Input x, Input slopes, Output weights, Output bias) const;
#ifdef OWN_TRAINING_CUDA
  void on_cuda(cudaStream_t stream, Input x, Input slopes, Output weights, Output bias) const;
#endif
};

/// The slopes of a rectified layer with results y [n, hidden], from the slopes [n, classes] of the
/// next layer: below [n, hidden] = slopes * weights transposed, and 0 if y is 0.
struct SlopesBelow {
  std::int64_t classes;

  bool check(const Shape& slopes, const Shape& weights, const Shape& y, const Shape& below) const {
    return slopes == Shape{y.extent(0), classes} && weights == Shape{y.extent(1), classes} &&
           below == y;
  }
  void on_host(Input slopes, Input weights, Input y, Output below) const;
#ifdef OWN_TRAINING_CUDA
  void on_cuda(cudaStream_t stream, Input slopes, Input weights, Input y, Output below) const;
#endif
};

/// A step of gradient descent: weights -= rate * gradient.
struct Descent {
  float rate;

  bool check(const Shape& weights, const Shape& gradient) const { return weights == gradient; }
  void on_host(Output weights, Input gradient) const;
#ifdef OWN_TRAINING_CUDA
  void on_cuda(cudaStream_t stream, Output weights, Input gradient) const;
#endif
};

}  // namespace own_training
