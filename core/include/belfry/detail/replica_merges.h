// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/kernel.h"
#include "belfry/cross_replica_context.h"
#include "belfry/detail/variable/aggregation.h"
#include "belfry/detail/variable_state.h"
#include "belfry/replica_context.h"

#include <string>
#include <utility>
#include <vector>

namespace belfry {

class CrossReplicaContext;

namespace detail {

/// `assign_add to loss`, `scatter add to table`.
std::string describe_change(AssignOp op, const VariableInfo& info);
std::string describe_change(ScatterOp op, const VariableInfo& info);

/// The merge function for a change of a variable by all replicas, and its name in messages.
template <class F, class Op>
struct VariableMerge {
  const F& change;
  Op op;
  const VariableInfo& info;

  template <class... Values>
  void operator()(CrossReplicaContext& cross, const Values&... values) const {
    change(cross, values...);
  }
  std::string describe_merge() const { return describe_change(op, info); }
};
template <class F, class Op>
VariableMerge(const F&, Op, const VariableInfo&) -> VariableMerge<F, Op>;

}  // namespace detail
}  // namespace belfry

/// The verbs of a replica whose merges call verbs of the cross-replica context.
namespace belfry {

template <class R, class T>
  requires Reduction<R, T>
ReductionResult<R, T> ReplicaContext::all_reduce(const R& reduction, T value,
                                                 detail::MergePlace place) {
  const auto merge = [&](CrossReplicaContext& cross, const PerReplica<T>& values) {
    return cross.reduce(reduction, values, place.site);
  };
  return merge_at<detail::MergeKind::kAllReduce>(place, nullptr, merge, std::move(value));
}

template <class T>
T ReplicaContext::all_gather(T value, Axis axis, detail::MergePlace place) {
  if constexpr (!detail::require_nest<T>()) {
    return value;
  } else {
    const auto merge = [site = place.site](CrossReplicaContext& cross, const PerReplica<T>& values,
                                           const PerReplica<int>& axes) {
      detail::StrategyCore& core = cross.core();
      detail::of_all_processes(core, "all_gather", axes, site, [&](const PerReplica<int>& all) {
        detail::require_same_axis(all, site);
      });
      return detail::of_all_processes(
          core, "all_gather", values, site, [&](const PerReplica<T>& all) {
            return detail::all_gather_value(core, all, Axis(*axes.begin()), site);
          });
    };
    return merge_at<detail::MergeKind::kAllGather>(place, nullptr, merge, std::move(value),
                                                   axis.value);
  }
}

template <class T>
  requires(!Nest<std::vector<T>>)
std::vector<T> ReplicaContext::all_gather(std::vector<T> value, detail::MergePlace place) {
  const auto merge = [site = place.site](CrossReplicaContext& cross,
                                         const PerReplica<std::vector<T>>& values) {
    return cross.broadcast(cross.gather(values, site), site);
  };
  return merge_at<detail::MergeKind::kAllGather>(place, nullptr, merge, std::move(value));
}

namespace detail {

template <class Self>
template <class T, class V>
void AssignVerbs<Self>::assign_merged(const MirroredVariable<T>& variable, AssignOp op, V value,
                                      MergePlace place) {
  VariableState<T>& state = variable.state(place.site);
  require_aggregation(self(), state.info, place.site);
  const auto change = [&variable, op, aggregation = state.info.aggregation, site = place.site](
                          CrossReplicaContext& cross, const PerReplica<T>& values) {
    const auto set = [&variable, op, site](T& component, const T& delta) {
      apply_assign(op, component, delta, variable.name(site), site);
    };
    const UpdateOptions how{.anew = op == AssignOp::kSet, .site = site};
    if (aggregation == Aggregation::kOnlyFirst) {
      cross.update(how, variable, set, cross.broadcast(*values.begin(), site));
    } else {
      const ReduceOp reduce = aggregation == Aggregation::kSum ? ReduceOp::kSum : ReduceOp::kMean;
      cross.update(how, variable, set, cross.reduce(reduce, values, site));
    }
  };
  // Replicas must agree on the variable and on the operation: an address for each pair.
  const void* identity = reinterpret_cast<const char*>(&state) + static_cast<int>(op);
  self().template merge_at<MergeKind::kAssign>(
      place, identity, VariableMerge{change, op, state.info}, T(std::move(value)));
}

}  // namespace detail

}  // namespace belfry
