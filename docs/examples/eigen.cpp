// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Matrices of Eigen and tensors over the same memory.
#include <belfry/belfry.h>
#include <belfry/launch.h>
#include <belfry/sim/backend.h>

#include <Eigen/Core>

#include <iostream>
#include <span>
#include <vector>

using namespace belfry;

// [kernel]
/// y = x * x, for matrices [size, size].
struct Square {
  Eigen::Index size;

  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  void on_host(std::span<const float> x, std::span<float> y) const {
    const Eigen::Map<const Matrix> in(x.data(), size, size);
    Eigen::Map<Matrix>(y.data(), size, size).noalias() = in * in;
  }
};
// [kernel]

int main() {
  sim::Backend backend{{.devices = 2}};
  MirroredStrategy strategy{backend};
  const auto scope = strategy.scope();
  // [matrix]
  Square::Matrix matrix(2, 2);
  matrix << 1, 2, 3, 4;
  const std::span memory(matrix.data(), static_cast<std::size_t>(matrix.size()));
  const auto x = Tensor<float>::over({2, 2}, memory);  // in place
  auto y = Tensor<float>::uninitialised({2, 2});
  launch(Square{2}, reads(x), writes(y));

  const std::vector<float> values = y.to_host();
  std::cout << Eigen::Map<const Square::Matrix>(values.data(), 2, 2) << '\n';
  // [matrix]
}
