// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/cross_replica_context.h"
#include "belfry/detail/divided_once.h"
#include "belfry/replica_context.h"
#include "belfry/tensor_ops.h"

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
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

namespace detail {

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
/// Throws: InvalidArgumentError (kIntegerMean) for MEAN of integers, (kDType) for bool.
void require_slice_reduction(ReduceOp op, DType dtype, CallSite site);

}  // namespace detail

/// Makes slices, and checks the shapes. Throws: InvalidArgumentError (kShape) unless k slices have
/// k indices and the row extents of the dense tensor.
template <Element T>
IndexedSlices<T> indexed_slices(Tensor<T> values, Tensor<std::int64_t> indices, Shape dense_shape,
                                CallSite site = CallSite::here()) {
  detail::require_slices(values.shape(), indices.shape(), dense_shape, site);
  return {std::move(values), std::move(indices), std::move(dense_shape)};
}

/// The dense tensor, on the device of the slices. Slices of one row are added in the order of the
/// slices.
/// Order: enqueued on the device. Throws: InvalidArgumentError (kShape) as `indexed_slices`,
/// (kDType) for elements without arithmetic; DeviceError (kOutOfMemory).
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
/// Order: copies are enqueued. Throws: as Tensor::copy_to.
template <Element T>
IndexedSlices<T> copy_to(const IndexedSlices<T>& slices, Placement target) {
  return {slices.values.copy_to(target), slices.indices.copy_to(target), slices.dense_shape};
}

/// The same rows, with every value divided by `divisor`. Order, Throws: as `divide`.
template <Element T>
IndexedSlices<T> operator/(const IndexedSlices<T>& slices, T divisor) {
  return {slices.values / divisor, slices.indices, slices.dense_shape};
}

/// The slices of all `parts`, one part after another: the sum of the parts, since `to_dense` adds
/// slices of equal index.
/// Order: enqueued on the device of the parts. Throws: StructureMismatchError (kStructure) if dense
/// shapes differ; InvalidArgumentError (kShape) for an empty list, (kForeignObject) for parts on
/// different devices; DeviceError (kOutOfMemory).
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

/// A gradient, dense or sparse.
template <Element T>
using Gradient = std::variant<Tensor<T>, IndexedSlices<T>>;

namespace detail {

template <Element T>
Shape dense_shape_of(const Gradient<T>& gradient) {
  const auto* slices = std::get_if<IndexedSlices<T>>(&gradient);
  return slices != nullptr ? slices->dense_shape : std::get<Tensor<T>>(gradient).shape();
}

template <Element T>
Tensor<T> dense_of(const Gradient<T>& gradient, CallSite site) {
  const auto* slices = std::get_if<IndexedSlices<T>>(&gradient);
  return slices != nullptr ? to_dense(*slices, site) : std::get<Tensor<T>>(gradient);
}

}  // namespace detail

/// The sum of the gradients, all on one device; absent gradients are left out. If all gradients are
/// sparse, the sum is sparse: the slices of all gradients, in order. If any gradient is dense, the
/// sum is dense, added from left to right. A single gradient is returned as given, and without a
/// gradient the result is empty.
/// Order: enqueued on the device. Throws: StructureMismatchError (kStructure) if dense shapes
/// differ; as to_dense, concatenate and `add`.
template <Element T>
std::optional<Gradient<T>> add_gradients(const std::vector<std::optional<Gradient<T>>>& gradients,
                                         CallSite site = CallSite::here()) {
  std::vector<Gradient<T>> given;
  std::vector<IndexedSlices<T>> sparse;
  std::vector<Shape> shapes;
  for (const auto& gradient : gradients) {
    if (!gradient) continue;
    given.push_back(*gradient);
    shapes.push_back(detail::dense_shape_of<T>(*gradient));
    const auto* slices = std::get_if<IndexedSlices<T>>(&*gradient);
    if (slices != nullptr) sparse.push_back(*slices);
  }
  if (given.empty()) return std::nullopt;
  detail::require_same_dense_shape(shapes, site);
  if (given.size() == 1) return given.front();
  if (sparse.size() == given.size()) return concatenate(sparse, site);
  Tensor<T> sum = detail::dense_of<T>(given.front(), site);
  for (std::size_t i = 1; i < given.size(); ++i) sum = sum + detail::dense_of<T>(given[i], site);
  return sum;
}

/// The sum or mean of the replicas' slices, on the device of each replica. SUM: the slices of all
/// replicas, in replica order. MEAN: the same slices, with every value divided by the number of
/// replicas that take part (SEM-91, SEM-130). Replicas may bring different numbers of slices.
/// Order: enqueued. Throws: StructureMismatchError (kStructure) if dense shapes differ;
/// InvalidArgumentError (kIntegerMean), (kDType) for bool, (kInvalidArgument) for another number of
/// replicas; ContextError as CrossReplicaContext::reduce; DeviceError (kOutOfMemory).
template <Element T>
Mirrored<IndexedSlices<T>> reduce_slices(CrossReplicaContext& cross, ReduceOp op,
                                         const PerReplica<IndexedSlices<T>>& slices,
                                         CallSite site = CallSite::here()) {
  using Tensors = std::tuple<Tensor<T>, Tensor<std::int64_t>>;  // Values, indices.
  cross.core().require_cross("reduce_slices", site);
  cross.core().require_one_process("reduce_slices", site);
  detail::require_replicas(cross.core(), slices.size(), site);
  detail::require_slice_reduction(op, dtype_of<T>(), site);
  std::vector<Shape> shapes;
  detail::ReplicaArray<Tensors> tensors(slices.present().count());
  for (const IndexedSlices<T>& component : slices) {
    shapes.push_back(component.dense_shape);
    tensors.emplace_back(component.values, component.indices);
  }
  detail::require_same_dense_shape(shapes, site, &slices.present());
  const Mirrored<Tensors> gathered = detail::all_gather_value(
      cross.core(), PerReplica<Tensors>(std::move(tensors), slices.present()), Axis(0), site);
  detail::ReplicaArray<IndexedSlices<T>> results(gathered.size());
  for (int replica = 0; replica < gathered.size(); ++replica) {
    const auto& [values, indices] = gathered[replica];
    IndexedSlices<T> result{values, indices, shapes.front()};
    if (op == ReduceOp::kMean) {
      result.values = Tensor<T>(detail::divided_once(result.values.any(), slices.present().count(),
                                                     "reduce_slices", site));
    }
    results.emplace_back(std::move(result));
  }
  return Mirrored<IndexedSlices<T>>(gathered.size(), std::move(results));
}

namespace detail {

/// The merge function of all_reduce_slices.
template <Element T>
struct SlicesMerge {
  CallSite site;

  Mirrored<IndexedSlices<T>> operator()(CrossReplicaContext& cross,
                                        const PerReplica<IndexedSlices<T>>& all,
                                        const PerReplica<ReduceOp>& ops) const {
    require_same_slice_reduction(ops, site);
    return reduce_slices(cross, *ops.begin(), all, site);
  }
  std::string describe_merge() const { return "all_reduce_slices"; }
};

}  // namespace detail

/// reduce_slices of the slices of all replicas: a merge. Returns the result on the device of this
/// replica.
/// Order: waits for all replicas; device work is enqueued. Throws, from `run`: MergeMismatchError;
/// StructureMismatchError (kStructure) if replicas ask for different reductions; as reduce_slices.
template <Element T>
IndexedSlices<T> all_reduce_slices(ReplicaContext& replica, ReduceOp op,
                                   const IndexedSlices<T>& slices,
                                   detail::MergePlace place = CallSite::here()) {
  return replica.merge_call_at(place, detail::SlicesMerge<T>{place.site}, slices, op);
}
/// all_reduce_slices with a tag (SEM-132).
template <Element T>
IndexedSlices<T> all_reduce_slices(ReplicaContext& replica, const MergeTag& tag, ReduceOp op,
                                   const IndexedSlices<T>& slices) {
  return all_reduce_slices(replica, op, slices, tag);
}

}  // namespace belfry
