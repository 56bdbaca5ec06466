// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/cross_replica_context.h"
#include "belfry/detail/variable_merge.h"
#include "belfry/indexed_slices.h"
#include "belfry/replica_context.h"
#include "belfry/tensor_ops.h"
#include "belfry/variable.h"

#include <concepts>
#include <cstdint>
#include <type_traits>

/// Changes to some rows of a variable, where an update would write all of it (SEM-131). What each
/// ScatterOp does to a row is said beside it; rows are taken in order, and a row that is named
/// several times meets all of them.
namespace belfry {

namespace detail {

/// Throws: InvalidArgumentError (kShape) unless slices are of a tensor like the variable's
/// component.
void require_shape_of(const Shape& slices, const Shape& component, const VariableInfo& info,
                      CallSite site);
/// Throws: UnsupportedError unless what the replicas bring can be combined before the operation.
void require_combinable(ScatterOp op, const VariableInfo& info, CallSite site);
/// Throws: UnsupportedError: a replica changes its component of a replica-local variable itself.
[[noreturn]] void throw_local_scatter(const VariableInfo& info, CallSite site);
/// How many elements a row of a tensor has.
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

/// `S` is slices, or Mirrored slices.
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

}  // namespace detail

/// Every component of a variable of either kind becomes itself op the slices, whatever the
/// variable's aggregation; all or nothing, as CrossReplicaContext::update. An index that names no
/// row is passed over by GPUs, and an error of the simulator's (BF-061, SEM-74).
/// Order: enqueued on each component's device; slices from elsewhere are copied there.
/// Throws: ContextError (kWrongContext, kOtherStrategy); InvalidArgumentError (kShape) for slices
/// of a tensor of another shape, (kDType) where the type lacks the operation; DeviceError
/// (kOutOfMemory).
template <class V, Element T>
  requires detail::VariableOfTensor<V, T>
void scatter(CrossReplicaContext& cross, ScatterOp op, const V& variable,
             const IndexedSlices<T>& slices, CallSite site = CallSite::here()) {
  detail::scatter_components<T>(cross, op, variable, slices, site);
}
/// The same, with those slices for each component that are of its replica. Throws: also
/// InvalidArgumentError (kInvalidArgument) for a Mirrored of another number of replicas.
template <class V, Element T>
  requires detail::VariableOfTensor<V, T>
void scatter(CrossReplicaContext& cross, ScatterOp op, const V& variable,
             const Mirrored<IndexedSlices<T>>& slices, CallSite site = CallSite::here()) {
  detail::scatter_components<T>(cross, op, variable, slices, site);
}

/// In a replica: a merge. What the replicas bring is combined by the variable's aggregation: all
/// rows in replica order, divided by the number of those replicas for MEAN, or the first replica's
/// alone; then every component changes alike. Order: a merge, in which work is enqueued.
/// Throws: InvalidArgumentError (kNoAggregation), (kShape) for slices that do not fit together;
/// UnsupportedError (kUnsupported) for kMinimum, kMaximum and kSet of a variable with SUM or MEAN;
/// ContextError (kOtherStrategy); from `run`: MergeMismatchError (kMergePlaces) when replicas name
/// different variables or operations, and as above.
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
      scatter(cross, op, variable, *all.begin(), site);
    } else {
      const ReduceOp reduce = aggregation == Aggregation::kSum ? ReduceOp::kSum : ReduceOp::kMean;
      scatter(cross, op, variable, reduce_slices(cross, reduce, all, site), site);
    }
  };
  const detail::VariableMerge merge{change, op, state.info};
  detail::MergeCall<detail::MergeKind::kScatter, decltype(merge), const IndexedSlices<T>&> request(
      place, merge, slices);
  // Replicas must agree on the variable and on what they do to it: one address for each pair.
  request.identity = reinterpret_cast<const char*>(&state) + static_cast<int>(op);
  replica.merges().meet(replica.replica_id(), request);
}

/// Components of a replica-local variable are changed where they live: `scatter_rows` of
/// `variable.on(replica)`. Throws: UnsupportedError (kUnsupported).
template <Element T>
void scatter(ReplicaContext&, ScatterOp, const ReplicaLocalVariable<Tensor<T>>& variable,
             const std::type_identity_t<IndexedSlices<T>>&,
             detail::MergePlace place = CallSite::here()) {
  detail::throw_local_scatter(variable.state(place.site).info, place.site);
}

/// As the variable's kind has it.
template <Element T>
void scatter(ReplicaContext& replica, ScatterOp op, const Variable<Tensor<T>>& variable,
             const std::type_identity_t<IndexedSlices<T>>& slices,
             detail::MergePlace place = CallSite::here()) {
  variable.visit([&](const auto& kind) { scatter(replica, op, kind, slices, place); }, place.site);
}

/// The scatter of a replica, named by a tag (SEM-132).
template <template <class> class Kind, Element T>
void scatter(ReplicaContext& replica, const MergeTag& tag, ScatterOp op,
             const Kind<Tensor<T>>& variable,
             const std::type_identity_t<IndexedSlices<T>>& slices) {
  scatter(replica, op, variable, slices, tag);
}

}  // namespace belfry
