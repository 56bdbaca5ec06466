// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/cross_replica_context.h"
#include "belfry/detail/process_values.h"
#include "belfry/detail/replica_merges.h"
#include "belfry/indexed_slices.h"
#include "belfry/replica_context.h"
#include "belfry/tensor_ops.h"
#include "belfry/variable.h"

#include <concepts>
#include <cstdint>
#include <type_traits>

/// Changes to some rows of a variable; an update would write all rows (SEM-131). ScatterOp
/// describes the operations. Rows are applied in order; a row named several times is changed
/// several times.
namespace belfry {

namespace detail {

/// Throws: InvalidArgumentError (kShape) unless the slices' dense shape is the component's shape.
void require_shape_of(const Shape& slices, const Shape& component, const VariableInfo& info,
                      CallSite site);
/// Throws: UnsupportedError unless the slices of all replicas can be combined before the operation.
void require_combinable(ScatterOp op, const VariableInfo& info, CallSite site);
/// Throws: UnsupportedError. A replica changes rows of a replica-local variable in its own
/// component.
[[noreturn]] void throw_local_scatter(const VariableInfo& info, CallSite site);
/// The number of elements in a row of a tensor.
std::int64_t row_size(const Shape& shape);

template <class V, class T>
concept VariableOfTensor = IsVariable<V>::value && std::same_as<typename V::value_type, Tensor<T>>;

template <Element T>
void scatter_into(Tensor<T>& component, ScatterOp op, const IndexedSlices<T>& slices,
                  CallSite site) {
  const Shape shape = component.shape();
  const std::int64_t columns = row_size(shape);
  Tensor<T> table = component.reshaped(Shape{shape.extent(0), columns}, site);
  const IndexedSlices<T> here = copy_to(slices, component.placement());
  scatter_rows(op, table, here.indices,
               here.values.reshaped(Shape{here.indices.count(), columns}, site), site);
  component = table.reshaped(shape, site);
}

/// `S` is IndexedSlices<T>, or Mirrored<IndexedSlices<T>>.
template <Element T, class V, class S>
void scatter_components(CrossReplicaContext& cross, ScatterOp op, const V& variable,
                        const S& slices, CallSite site) {
  const VariableInfo& info = variable.state(site).info;
  const auto change = [op, &info, site](Tensor<T>& component, const IndexedSlices<T>& own) {
    require_slices(own.values.shape(), own.indices.shape(), own.dense_shape, site);
    require_shape_of(own.dense_shape, component.shape(), info, site);
    scatter_into(component, op, own, site);
  };
  cross.update_at(site, variable, change, slices);
}

/// The slices of the first replica that takes part, of whatever process.
template <Element T>
IndexedSlices<T> first_slices(CrossReplicaContext& cross, const PerReplica<IndexedSlices<T>>& all,
                              CallSite site) {
  StrategyCore& core = cross.core();
  const IndexedSlices<T>& own = *all.begin();
  const auto as_it_is = [](const auto& tensor) { return tensor; };
  // Every process compares the dense shape with that of the variable.
  return {of_first_process(core, "scatter", own.values, site, as_it_is),
          of_first_process(core, "scatter", own.indices, site, as_it_is), own.dense_shape};
}

}  // namespace detail

/// Applies `op` with the slices to every component of a variable of either kind, whatever the
/// variable's aggregation. If the call throws, no component has changed.
/// Order: enqueued on each component's device; slices on other devices are copied.
/// Throws:
/// - ContextError (kWrongContext, kOtherStrategy): inside a replica or another strategy;
/// - InvalidArgumentError (kShape): slices of a tensor of another shape;
/// - InvalidArgumentError (kDType): the element type lacks the operation;
/// - DeviceError (kOutOfMemory).
/// An index without a row is skipped on GPUs, and fails the work on the simulator (BF-061, SEM-74).
template <class V, Element T>
  requires detail::VariableOfTensor<V, T>
void scatter(CrossReplicaContext& cross, ScatterOp op, const V& variable,
             const IndexedSlices<T>& slices, CallSite site = CallSite::here()) {
  detail::scatter_components<T>(cross, op, variable, slices, site);
}
/// Applies to each component the slices of its replica.
/// Throws: also InvalidArgumentError (kInvalidArgument) for a Mirrored of another number of
/// replicas.
template <class V, Element T>
  requires detail::VariableOfTensor<V, T>
void scatter(CrossReplicaContext& cross, ScatterOp op, const V& variable,
             const Mirrored<IndexedSlices<T>>& slices, CallSite site = CallSite::here()) {
  detail::scatter_components<T>(cross, op, variable, slices, site);
}

/// Applies the slices of all replicas in a merge; every component changes alike. The variable's
/// aggregation combines the slices: SUM takes all rows in replica order, MEAN divides the rows by
/// the number of participating replicas, ONLY_FIRST takes the first replica's slices. MAX, MIN and
/// PROD take all rows for kMaximum, kMinimum and kMultiply.
/// Order: blocks the host until all replicas have arrived; work is enqueued.
/// Throws:
/// - InvalidArgumentError (kNoAggregation): the variable has no aggregation;
/// - InvalidArgumentError (kShape): slices that do not fit together;
/// - UnsupportedError (kUnsupported): kMinimum, kMaximum and kSet with SUM or MEAN, and all
///   operations but their own with MAX, MIN or PROD;
/// - ContextError (kOtherStrategy): a variable of another strategy;
/// - MergeMismatchError (kMergePlaces), from `run`: replicas name several variables or operations.
template <Element T>
void scatter(ReplicaContext& replica, ScatterOp op, const MirroredVariable<Tensor<T>>& variable,
             const std::type_identity_t<IndexedSlices<T>>& slices,
             detail::MergePlace place = CallSite::here()) {
  const CallSite site = place.site;
  const auto& state = variable.state(site);
  detail::require_aggregation(replica, state.info, site);
  detail::require_combinable(op, state.info, site);
  detail::require_slices(slices.values.shape(), slices.indices.shape(), slices.dense_shape, site);
  const auto change = [&variable, op, aggregation = state.info.aggregation, site](
                          CrossReplicaContext& cross, const PerReplica<IndexedSlices<T>>& all) {
    if (aggregation == Aggregation::kOnlyFirst) {
      scatter(cross, op, variable, detail::first_slices(cross, all, site), site);
    } else {
      const ReduceOp reduce = aggregation == Aggregation::kMean ? ReduceOp::kMean : ReduceOp::kSum;
      scatter(cross, op, variable, reduce_slices(cross, reduce, all, site), site);
    }
  };
  const detail::VariableMerge merge{change, op, state.info};
  detail::MergeCall<detail::MergeKind::kScatter, decltype(merge), const IndexedSlices<T>&> request(
      place, merge, slices);
  // Replicas must agree on the variable and the operation: each pair has its own address.
  request.identity = reinterpret_cast<const char*>(&state) + static_cast<int>(op);
  replica.merges().meet(replica.replica_id(), request);
}

/// Refuses a replica-local variable: use `scatter_rows` on `variable.on(replica)`.
/// Throws: UnsupportedError (kUnsupported).
template <Element T>
void scatter(ReplicaContext&, ScatterOp, const ReplicaLocalVariable<Tensor<T>>& variable,
             const std::type_identity_t<IndexedSlices<T>>&,
             detail::MergePlace place = CallSite::here()) {
  detail::throw_local_scatter(variable.state(place.site).info, place.site);
}

/// Does the same for the kind of the variable.
template <Element T>
void scatter(ReplicaContext& replica, ScatterOp op, const Variable<Tensor<T>>& variable,
             const std::type_identity_t<IndexedSlices<T>>& slices,
             detail::MergePlace place = CallSite::here()) {
  variable.visit([&](const auto& kind) { scatter(replica, op, kind, slices, place); }, place.site);
}

/// scatter in a replica, with a tag (SEM-132).
template <template <class> class Kind, Element T>
void scatter(ReplicaContext& replica, const MergeTag& tag, ScatterOp op,
             const Kind<Tensor<T>>& variable,
             const std::type_identity_t<IndexedSlices<T>>& slices) {
  scatter(replica, op, variable, slices, tag);
}

}  // namespace belfry
