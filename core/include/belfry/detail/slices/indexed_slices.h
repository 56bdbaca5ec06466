// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/components_in.h"
#include "belfry/detail/tensor/arithmetic.h"
#include "belfry/replica_context.h"
#include "belfry/tensor_ops.h"

#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry {

/// Some rows of a dense tensor with zeros in all other rows, for example the gradient of an
/// embedding table: values in the rows of a batch, and zeros elsewhere. If an index appears several
/// times, the row of the dense tensor is the sum of all slices with the index (SEM-130). With
/// dense_shape [4, 2]:
///
///     indices  values         dense tensor
///           1  [1, 1]         [0, 0]
///           3  [2, 2]         [4, 4]
///           1  [3, 3]         [0, 0]
///                             [2, 2]
///
/// Replicas add slices by `all_reduce_slices`. `all_reduce` does not compile: an addition leaf by
/// leaf would add up indices.
template <Element T>
struct IndexedSlices {
  Tensor<T> values;              ///< [k, ...]: k slices.
  Tensor<std::int64_t> indices;  ///< [k]: the row of each slice in the dense tensor.
  Shape dense_shape;             ///< [n, ...]: all extents after the first are those of `values`.
};

/// `rows int64[2] of [10,3], values float32[2,3] on` and the device. No elements.
template <Element T>
std::string to_string(const IndexedSlices<T>& slices) {
  return "rows " + to_string(slices.indices.any().dtype()) + to_string(slices.indices.shape()) +
         " of " + to_string(slices.dense_shape) + ", values " + to_string(slices.values);
}

namespace detail {

template <class T>
inline constexpr bool kPrints<IndexedSlices<T>> = true;

template <Element T>
struct TensorsIn<IndexedSlices<T>> {
  static auto of(const IndexedSlices<T>& slices) { return std::tie(slices.values, slices.indices); }
};

/// Throws: InvalidArgumentError (kShape) unless k slices have k indices and the row extents of the
/// dense tensor.
void require_slices(const Shape& values, const Shape& indices, const Shape& dense, CallSite site);
/// Throws: StructureMismatchError (kStructure) unless all dense shapes are equal;
/// InvalidArgumentError (kShape) for an empty list. `present`: the replicas of the slices, for the
/// message; null if the slices belong to no replicas.
void require_same_dense_shape(const std::vector<Shape>& shapes, CallSite site,
                              const Participants* present = nullptr);
/// Throws: StructureMismatchError (kStructure) unless all replicas ask for the same reduction.
void require_same_slice_reduction(const PerReplica<ReduceOp>& ops, CallSite site);
/// Throws: InvalidArgumentError (kIntegerMean) for MEAN of integers, (kDType) for bool;
/// UnsupportedError (kUnsupported) for MAX, MIN and PROD.
void require_slice_reduction(ReduceOp op, DType dtype, CallSite site);

}  // namespace detail

/// Makes slices, and checks the shapes.
/// Throws: InvalidArgumentError (kShape) unless k slices have k indices and the row extents of the
/// dense tensor.
template <Element T>
IndexedSlices<T> indexed_slices(Tensor<T> values, Tensor<std::int64_t> indices, Shape dense_shape,
                                CallSite site = CallSite::here()) {
  detail::require_slices(values.shape(), indices.shape(), dense_shape, site);
  return {std::move(values), std::move(indices), std::move(dense_shape)};
}

/// The dense tensor, on the device of the slices. Slices of one row are added in the order of the
/// slices.
/// Order: enqueued on the device.
/// Throws: InvalidArgumentError (kShape) as `indexed_slices`, (kDType) for slices of bool;
/// DeviceError (kOutOfMemory).
template <Element T>
Tensor<T> to_dense(const IndexedSlices<T>& slices, CallSite site = CallSite::here()) {
  detail::require_slices(slices.values.shape(), slices.indices.shape(), slices.dense_shape, site);
  const std::int64_t rows = slices.dense_shape.extent(0);
  const std::int64_t columns = rows == 0 ? 0 : slices.dense_shape.count() / rows;
  Tensor<T> table = Tensor<T>::full(Shape{rows, columns}, T(0), slices.values.placement());
  if (slices.indices.count() > 0 && columns > 0) {
    scatter_add_rows(table, slices.indices,
                     slices.values.reshaped(Shape{slices.indices.count(), columns}, site), site);
  }
  return table.reshaped(slices.dense_shape, site);
}

/// The same slices on the device of `target`.
/// Order: copies are enqueued.
/// Throws: as Tensor::copy_to.
template <Element T>
IndexedSlices<T> copy_to(const IndexedSlices<T>& slices, Placement target) {
  return {slices.values.copy_to(target), slices.indices.copy_to(target), slices.dense_shape};
}

/// The same rows, with every value divided by `divisor`.
/// Order, Throws: as `divide`.
template <Element T>
IndexedSlices<T> operator/(const IndexedSlices<T>& slices,
                           detail::NumberOperand<std::type_identity_t<T>> divisor) {
  return {divide(slices.values, divisor.number, divisor.site), slices.indices, slices.dense_shape};
}

/// The slices of all `parts`, one part after another: the sum of the parts, since `to_dense` adds
/// slices of equal index.
/// Order: enqueued on the device of the parts.
/// Throws:
/// - StructureMismatchError (kStructure) if dense shapes differ;
/// - InvalidArgumentError (kShape) for an empty list, (kForeignObject) for parts on different
///   devices;
/// - DeviceError (kOutOfMemory).
template <Element T>
IndexedSlices<T> concatenate(const std::vector<IndexedSlices<T>>& parts,
                             CallSite site = CallSite::here()) {
  std::vector<Tensor<T>> values;
  std::vector<Tensor<std::int64_t>> indices;
  std::vector<Shape> shapes;
  for (const IndexedSlices<T>& part : parts) {
    values.push_back(part.values);
    indices.push_back(part.indices);
    shapes.push_back(part.dense_shape);
  }
  detail::require_same_dense_shape(shapes, site);
  return {concatenate(values, Axis(0), site), concatenate(indices, Axis(0), site),
          parts.front().dense_shape};
}

}  // namespace belfry
