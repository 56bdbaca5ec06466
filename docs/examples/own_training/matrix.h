// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>

#include <cstddef>
#include <span>

namespace own_training {

// [map]
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// A matrix over memory with rows of `columns` elements, in place.
inline Eigen::Map<const Matrix> matrix(std::span<const float> memory, std::size_t columns) {
  return {memory.data(), static_cast<Eigen::Index>(memory.size() / columns),
          static_cast<Eigen::Index>(columns)};
}
inline Eigen::Map<Matrix> matrix(std::span<float> memory, std::size_t columns) {
  return {memory.data(), static_cast<Eigen::Index>(memory.size() / columns),
          static_cast<Eigen::Index>(columns)};
}
// [map]

}  // namespace own_training
