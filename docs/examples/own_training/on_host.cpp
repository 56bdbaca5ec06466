// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Bodies of the kernels for the simulator and for devices of the host.
#include "kernels.h"
#include "matrix.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace own_training {

// [on_host]
void Layer::on_host(Input x, Input weights, Input bias, Output y) const {
  const std::size_t outputs = bias.size();
  auto result = matrix(y, outputs);
  result.noalias() = matrix(x, weights.size() / outputs) * matrix(weights, outputs);
  result.rowwise() += matrix(bias, outputs).row(0);
  if (rectified) result = result.cwiseMax(0.0F);
}
// [on_host]

void Loss::on_host(Input scores, Labels labels, Output slopes, Output losses) const {
  if (labels.empty()) return;
  const auto in = matrix(scores, scores.size() / labels.size());
  auto out = matrix(slopes, scores.size() / labels.size());
  for (Eigen::Index i = 0; i < in.rows(); ++i) {
    const auto row = static_cast<std::size_t>(i);
    // No exponential overflows: the largest score of the row becomes 0.
    const float largest = in.row(i).maxCoeff();
    out.row(i) = (in.row(i).array() - largest).exp();
    const float total = out.row(i).sum();
    losses[row] = std::log(total) - (in(i, labels[row]) - largest);
    out.row(i) /= total;
    out(i, labels[row]) -= 1;
    out.row(i) *= scale;
  }
}

void LayerGradient::on_host(Input x, Input slopes, Output weights, Output bias) const {
  if (slopes.empty()) {  // No example: a replica without a share of the batch.
    std::ranges::fill(weights, 0.0F);
    std::ranges::fill(bias, 0.0F);
    return;
  }
  const std::size_t outputs = bias.size();
  const auto of_results = matrix(slopes, outputs);
  matrix(weights, outputs).noalias() = matrix(x, weights.size() / outputs).transpose() * of_results;
  matrix(bias, outputs).row(0) = of_results.colwise().sum();
}

void SlopesBelow::on_host(Input slopes, Input weights, Input y, Output below) const {
  const auto columns = static_cast<std::size_t>(classes);
  const std::size_t hidden = weights.size() / columns;
  auto result = matrix(below, hidden);
  result.noalias() = matrix(slopes, columns) * matrix(weights, columns).transpose();
  result = (matrix(y, hidden).array() > 0).select(result, 0.0F);
}

void Descent::on_host(Output weights, Input gradient) const {
  matrix(weights, 1) -= rate * matrix(gradient, 1);
}

}  // namespace own_training
