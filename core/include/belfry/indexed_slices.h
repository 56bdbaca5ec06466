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

/// Some rows of a tensor with zeros in all other rows, such as the gradient of an embedding. If
/// several indices name a row, the row is the sum of their slices (SEM-130). Not a nest: slices are
/// added by joining their rows, not leaf by leaf.
template <Element T>
struct IndexedSlices {
  Tensor<T> values;              ///< [k, ...], k rows.
  Tensor<std::int64_t> indices;  ///< [k], the rows of the dense tensor, in the order of `values`.
  Shape dense_shape;             ///< [n, ...]; rows have the extents of rows of `values`.
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

/// Throws: InvalidArgumentError (kShape) unless the three shapes fit together.
void require_slices(const Shape& values, const Shape& indices, const Shape& dense, CallSite site);
/// Throws: StructureMismatchError (kStructure) unless all dense shapes are equal. `present`: the
/// replicas of the slices, or null if the slices belong to no replicas.
void require_same_dense_shape(const std::vector<Shape>& shapes, CallSite site,
                              const Participants* present = nullptr);
/// Throws: StructureMismatchError (kStructure) unless all replicas ask for the same reduction.
void require_same_slice_reduction(const PerReplica<ReduceOp>& ops, CallSite site);
/// Throws: InvalidArgumentError (kIntegerMean) for MEAN of integers, (kDType) for bool.
void require_slice_reduction(ReduceOp op, DType dtype, CallSite site);

}  // namespace detail

/// Slices of a tensor [n, ...] with k rows. Throws: InvalidArgumentError (kShape) if the three
/// arguments do not fit together.
template <Element T>
IndexedSlices<T> indexed_slices(Tensor<T> values, Tensor<std::int64_t> indices, Shape dense_shape,
                                CallSite site = CallSite::here()) {
  detail::require_slices(values.shape(), indices.shape(), dense_shape, site);
  return {std::move(values), std::move(indices), std::move(dense_shape)};
}

/// The dense tensor, on the device of the slices; rows are added in the order of the slices.
/// Order: enqueued on the device. Throws: InvalidArgumentError (kShape) for slices that do not fit
/// together, (kDType) for elements without arithmetic; DeviceError (kOutOfMemory).
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

/// The same slices on another device. Order: copies are enqueued. Throws: as Tensor::copy_to.
template <Element T>
IndexedSlices<T> copy_to(const IndexedSlices<T>& slices, Placement target) {
  return {slices.values.copy_to(target), slices.indices.copy_to(target), slices.dense_shape};
}

/// Every value divided by `divisor`; the result has the same rows. Order, Throws: as `divide`.
template <Element T>
IndexedSlices<T> operator/(const IndexedSlices<T>& slices, T divisor) {
  return {slices.values / divisor, slices.indices, slices.dense_shape};
}

/// The sum of slices on one device: all rows, in order. Order: enqueued on the device. Throws:
/// StructureMismatchError (kStructure) if dense shapes differ; InvalidArgumentError (kShape) for an
/// empty list, (kForeignObject) for slices on different devices; DeviceError (kOutOfMemory).
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

/// The sum of the gradients that have a value, all on one device; nothing if none has a value. If
/// all are slices, the sum is slices, in order; if any is dense, the sum is dense, added from left
/// to right.
/// Order: enqueued on the device. Throws: StructureMismatchError (kStructure) if dense shapes
/// differ; as to_dense, concatenate and `add`.
template <Element T>
std::optional<Gradient<T>> add_gradients(const std::vector<std::optional<Gradient<T>>>& gradients,
                                         CallSite site = CallSite::here()) {
  std::vector<Gradient<T>> present;
  std::vector<IndexedSlices<T>> sparse;
  std::vector<Shape> shapes;
  for (const auto& gradient : gradients) {
    if (!gradient) continue;
    present.push_back(*gradient);
    const auto* slices = std::get_if<IndexedSlices<T>>(&*gradient);
    if (slices != nullptr) sparse.push_back(*slices);
    shapes.push_back(slices != nullptr ? slices->dense_shape
                                       : std::get<Tensor<T>>(*gradient).shape());
  }
  if (present.empty()) return std::nullopt;
  detail::require_same_dense_shape(shapes, site);
  if (present.size() == 1) return present.front();
  if (sparse.size() == present.size()) return concatenate(sparse, site);
  const auto dense = [&](const Gradient<T>& gradient) {
    const auto* slices = std::get_if<IndexedSlices<T>>(&gradient);
    return slices != nullptr ? to_dense(*slices, site) : std::get<Tensor<T>>(gradient);
  };
  Tensor<T> sum = dense(present.front());
  for (std::size_t i = 1; i < present.size(); ++i) sum = sum + dense(present[i]);
  return sum;
}

/// The reduction of all replicas' slices, on each replica: all rows, in replica order. MEAN divides
/// the rows by the number of participating replicas (SEM-91, SEM-130).
/// Order: enqueued. Throws: StructureMismatchError (kStructure) if dense shapes differ;
/// InvalidArgumentError (kIntegerMean), (kDType) for bool, (kInvalidArgument) for another number of
/// replicas; ContextError as CrossReplicaContext::reduce; DeviceError (kOutOfMemory).
template <Element T>
Mirrored<IndexedSlices<T>> reduce_slices(CrossReplicaContext& cross, ReduceOp op,
                                         const PerReplica<IndexedSlices<T>>& slices,
                                         CallSite site = CallSite::here()) {
  using Rows = std::tuple<Tensor<T>, Tensor<std::int64_t>>;
  cross.core().require_cross("reduce_slices", site);
  cross.core().require_one_process("reduce_slices", site);
  detail::require_replicas(cross.core(), slices.size(), site);
  detail::require_slice_reduction(op, dtype_of<T>(), site);
  std::vector<Shape> shapes;
  detail::ReplicaArray<Rows> rows(slices.present().count());
  for (const IndexedSlices<T>& own : slices) {
    shapes.push_back(own.dense_shape);
    rows.emplace_back(own.values, own.indices);
  }
  detail::require_same_dense_shape(shapes, site, &slices.present());
  const Mirrored<Rows> all = detail::all_gather_value(
      cross.core(), PerReplica<Rows>(std::move(rows), slices.present()), Axis(0), site);
  detail::ReplicaArray<IndexedSlices<T>> results(all.size());
  for (int replica = 0; replica < all.size(); ++replica) {
    const auto& [values, indices] = all[replica];
    IndexedSlices<T> own{values, indices, shapes.front()};
    if (op == ReduceOp::kMean) {
      own.values = Tensor<T>(
          detail::divided_once(own.values.any(), slices.present().count(), "reduce_slices", site));
    }
    results.emplace_back(std::move(own));
  }
  return Mirrored<IndexedSlices<T>>(all.size(), std::move(results));
}

/// MEAN of mirrored slices is the slices; SUM does not compile (SEM-34).
template <Element T>
Mirrored<IndexedSlices<T>> reduce_slices(CrossReplicaContext& cross, MeanOnly mean,
                                         const Mirrored<IndexedSlices<T>>& slices,
                                         CallSite site = CallSite::here()) {
  return cross.reduce(mean, slices, site);
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

/// reduce_slices inside a replica: a merge. Throws, from `run`: as reduce_slices,
/// MergeMismatchError, and StructureMismatchError also if replicas ask for different reductions.
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
