// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/tensor_launch.h"
#include "belfry/tensor.h"

#include <concepts>
#include <cstdint>
#include <string>
#include <vector>

/// Sums, products and rows of matrices (tensors of rank 2).
///
/// Order: enqueued on the compute stream of the operands' device; the host does not block.
/// Throws: InvalidArgumentError with kShape, kDType, kForeignObject, or kInvalidArgument for a
/// default-constructed tensor; DeviceError (kOutOfMemory).
/// Sums add elements one by one in ascending order; 16-bit floats accumulate in float and are
/// rounded once.
namespace belfry {

/// The sum of each row: [r, c] to [r]. An empty row sums to 0.
template <Element T>
Tensor<T> row_sum(const Tensor<T>& x, CallSite site = CallSite::here()) {
  return Tensor<T>(detail::launch_fold(FoldOp::kSum, true, x.any(), "row_sum", site));
}
/// The largest element of each row: [r, c] to [r]. Rows must not be empty.
template <Element T>
Tensor<T> row_max(const Tensor<T>& x, CallSite site = CallSite::here()) {
  return Tensor<T>(detail::launch_fold(FoldOp::kMaximum, true, x.any(), "row_max", site));
}
/// The sum of each column: [r, c] to [c]. An empty column sums to 0.
template <Element T>
Tensor<T> column_sum(const Tensor<T>& x, CallSite site = CallSite::here()) {
  return Tensor<T>(detail::launch_fold(FoldOp::kSum, false, x.any(), "column_sum", site));
}
/// The largest element of each column: [r, c] to [c]. Columns must not be empty.
template <Element T>
Tensor<T> column_max(const Tensor<T>& x, CallSite site = CallSite::here()) {
  return Tensor<T>(detail::launch_fold(FoldOp::kMaximum, false, x.any(), "column_max", site));
}

/// The same elements as a column: [r] to [r, 1], for arithmetic with every column of a matrix.
template <Element T>
Tensor<T> as_column(const Tensor<T>& x, CallSite site = CallSite::here()) {
  return x.reshaped({x.count(), 1}, site);
}

/// Options of a product of matrices.
struct MatmulOptions {
  bool transpose_a = false;  ///< Whether `a` is stored transposed.
  bool transpose_b = false;  ///< Whether `b` is stored transposed.
};

/// `{.transpose_a = true}` or similar; `{}` without a transposition.
std::string to_string(const MatmulOptions& options);

/// The product of matrices: [r, k] times [k, c] is [r, c]. `transpose_a` takes a as [k, r],
/// `transpose_b` takes b as [c, k]; nothing is copied. An empty product (k = 0) is 0.
template <Element T>
Tensor<T> matmul(const Tensor<T>& a, const Tensor<T>& b, MatmulOptions options = {},
                 CallSite site = CallSite::here()) {
  return Tensor<T>(
      detail::launch_matmul(a.any(), b.any(), {options.transpose_a, options.transpose_b}, site));
}

template <class I>
concept RowIndex = std::same_as<I, std::int32_t> || std::same_as<I, std::int64_t>;

/// Row `indices[i]` of `table` as row i: [n, c] and [m] give [m, c]. An index outside [0, n) gives
/// a row of zeros; on the simulator the work fails (BF-061).
template <Element T, RowIndex I>
Tensor<T> gather_rows(const Tensor<T>& table, const Tensor<I>& indices,
                      CallSite site = CallSite::here()) {
  return Tensor<T>(detail::launch_gather_rows(table.any(), indices.any(), site));
}

/// Row `indices[i]` of `table` becomes `row op rows[i]`, for i ascending. A row named twice is
/// changed twice; with kSet the last value stays. An index outside the table is skipped on GPUs and
/// fails the work on the simulator (BF-061, SEM-74). Other tensors with the same storage keep their
/// values. For bool: kSet alone.
template <Element T, RowIndex I>
void scatter_rows(ScatterOp op, Tensor<T>& table, const Tensor<I>& indices, const Tensor<T>& rows,
                  CallSite site = CallSite::here()) {
  detail::update_scatter_rows(op, table.any(), indices.any(), rows.any(), "scatter_rows", site);
}

/// scatter_rows with kAdd.
template <Element T, RowIndex I>
void scatter_add_rows(Tensor<T>& table, const Tensor<I>& indices, const Tensor<T>& rows,
                      CallSite site = CallSite::here()) {
  detail::update_scatter_rows(ScatterOp::kAdd, table.any(), indices.any(), rows.any(),
                              "scatter_add_rows", site);
}

/// The column of the largest element of each row, the first if several are equal: [r, c] to r
/// numbers.
/// Order: blocks the host.
/// Throws: InvalidArgumentError (kShape) unless `x` is a matrix with columns; as Tensor::to_host.
template <Element T>
std::vector<std::int64_t> argmax_rows(const Tensor<T>& x, CallSite site = CallSite::here()) {
  if (x.shape().rank() != 2 || x.shape().extent(1) == 0) {
    throw InvalidArgumentError(ErrorCode::kShape, "argmax_rows of a tensor " + to_string(x.shape()),
                               "it takes a matrix with at least one column", site);
  }
  const auto values = x.to_host(site);
  const auto columns = static_cast<std::size_t>(x.shape().extent(1));
  std::vector<std::int64_t> best;
  for (std::size_t row = 0; row < values.size(); row += columns) {
    std::size_t found = 0;
    for (std::size_t c = 1; c < columns; ++c) {
      if (values[row + c] > values[row + found]) found = c;
    }
    best.push_back(static_cast<std::int64_t>(found));
  }
  return best;
}

}  // namespace belfry
