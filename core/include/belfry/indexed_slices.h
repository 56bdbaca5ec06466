// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/cross_replica_context.h"
#include "belfry/detail/integer_sums.h"
#include "belfry/detail/slices/indexed_slices.h"
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

/// Adds gradients that are on one device; absent gradients are left out. Sparse gradients alone
/// give the slices of all, in order. If any gradient is dense, the sum is dense, added from left to
/// right. A single gradient is returned as given, and no gradient gives nothing.
/// Order: enqueued on the device.
/// Throws: StructureMismatchError (kStructure) if dense shapes differ; the errors of to_dense,
/// concatenate and `add`.
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

namespace detail {

/// Slices in a form that can be sent: values, indices, and the extents of the dense shape.
template <Element T>
using SentSlices = std::tuple<Tensor<T>, Tensor<std::int64_t>, std::vector<std::int64_t>>;

/// See belfry::reduce_slices.
template <Element T>
Mirrored<IndexedSlices<T>> reduce_all_slices(StrategyCore& core, ReduceOp op,
                                             const PerReplica<SentSlices<T>>& slices,
                                             CallSite site) {
  using Tensors = std::tuple<Tensor<T>, Tensor<std::int64_t>>;  // Values, indices.
  std::vector<Shape> shapes;
  ReplicaArray<Tensors> tensors(slices.present().count());
  for (const auto& [values, indices, extents] : slices) {
    shapes.emplace_back(extents);
    tensors.emplace_back(values, indices);
  }
  require_same_dense_shape(shapes, site, &slices.present());
  const Mirrored<Tensors> gathered = all_gather_value(
      core, PerReplica<Tensors>(std::move(tensors), slices.present()), Axis(0), site);
  // A process without replicas has the result on its host.
  const int count = std::max(core.own().count(), 1);
  ReplicaArray<IndexedSlices<T>> results(count);
  for (int i = 0; i < count; ++i) {
    const auto& [values, indices] = gathered[core.first_replica() + i];
    IndexedSlices<T> result{values, indices, shapes.front()};
    if (op == ReduceOp::kMean) {
      result.values = Tensor<T>(
          divided_once(result.values.any(), slices.present().count(), "reduce_slices", site));
    }
    results.emplace_back(std::move(result));
  }
  return mirrored_on_own(core, std::move(results));
}

}  // namespace detail

/// Combines the slices of all replicas, and brings the result to every replica's device. SUM: the
/// slices of all replicas, in replica order. MEAN: the same slices, with every value divided by the
/// number of replicas that take part (SEM-91, SEM-130). Replicas may bring different numbers of
/// slices.
/// Order: enqueued.
/// Throws, beside the errors of every verb of CrossReplicaContext:
/// - StructureMismatchError (kStructure): dense shapes differ;
/// - InvalidArgumentError (kIntegerMean): the mean of integers;
/// - InvalidArgumentError (kDType): bool;
/// - UnsupportedError (kUnsupported): MAX, MIN and PROD.
template <Element T>
Mirrored<IndexedSlices<T>> reduce_slices(CrossReplicaContext& cross, ReduceOp op,
                                         const PerReplica<IndexedSlices<T>>& slices,
                                         CallSite site = CallSite::here()) {
  cross.core().require_cross("reduce_slices", site);
  detail::require_replicas(cross.core(), slices.size(), site);
  detail::require_slice_reduction(op, dtype_of<T>(), site);
  using Sent = detail::SentSlices<T>;
  detail::ReplicaArray<Sent> sent(slices.present().count());
  for (const IndexedSlices<T>& component : slices) {
    const auto extents = component.dense_shape.extents();
    sent.emplace_back(component.values, component.indices,
                      std::vector<std::int64_t>(extents.begin(), extents.end()));
  }
  return detail::of_all_processes(
      cross.core(), "reduce_slices", PerReplica<Sent>(std::move(sent), slices.present()), site,
      [&](const PerReplica<Sent>& all) {
        return detail::reduce_all_slices<T>(cross.core(), op, all, site);
      });
}

/// Returns the slices: the mean of slices that all replicas share. SUM does not compile (SEM-34).
template <Element T>
Mirrored<IndexedSlices<T>> reduce_slices(CrossReplicaContext& cross, detail::MeanOnly mean,
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

/// Combines the slices of all replicas in a merge, as reduce_slices does; the result is on this
/// replica's device.
/// Order: blocks the host until all replicas have arrived; device work is enqueued.
/// Throws, from `run`: the errors of reduce_slices; StructureMismatchError (kStructure) if replicas
/// ask for different reductions.
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
