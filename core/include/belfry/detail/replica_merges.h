// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/kernel.h"
#include "belfry/cross_replica_context.h"
#include "belfry/detail/exchange_values.h"
#include "belfry/detail/gather_values.h"
#include "belfry/detail/gathered_lists.h"
#include "belfry/detail/mirror.h"
#include "belfry/detail/variable/aggregation.h"
#include "belfry/detail/variable_state.h"
#include "belfry/replica_context.h"

#include <memory>
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

/// The all_gather of a list by a replica: the merge replaces the list by the joined lists.
template <class E>
struct AllGatherRequest : MergeRequest {
  AllGatherRequest(MergePlace where, Axis axis_of_replica, std::vector<E>& target)
      : MergeRequest{&kType, where.site, where.tag, nullptr},
        axis(axis_of_replica),
        list(&target) {}

  static void execute(CrossReplicaContext& cross, MergeRequest* const* requests,
                      const Participants& present, int functions) {
    const auto at = [&](int i) -> AllGatherRequest& {
      return static_cast<AllGatherRequest&>(*requests[present.id(i)]);
    };
    std::vector<GatheredList> lists;
    for (int i = 0; i < present.count(); ++i) {
      const auto list = std::make_shared<std::vector<E>>(std::move(*at(i).list));
      lists.push_back({present.id(i), at(i).axis.value, list->size(), elements_in(list)});
    }
    const auto joined = joined_lists<E>(
        cross.core(), {"all_gather", std::move(lists), sizeof(E), requests[functions]->site});
    const int last = present.count() - 1;
    for (int i = 0; i < last; ++i) *at(i).list = *joined;
    *at(last).list = std::move(*joined);
  }

  static constexpr MergeType kType{MergeKind::kAllGather, spelling<std::vector<E>, int>(),
                                   &execute};

  Axis axis;
  std::vector<E>* list;
};

}  // namespace detail
}  // namespace belfry

/// The verbs of a replica whose merges call verbs of the cross-replica context.
namespace belfry {

template <class R, class T>
  requires Reduction<R, T>
ReductionResult<R, T> ReplicaContext::all_reduce(const R& reduction, T value,
                                                 detail::MergePlace place) const {
  const auto merge = [&](CrossReplicaContext& cross, const PerReplica<T>& values) {
    return cross.reduce(reduction, values, place.site);
  };
  return merge_at<detail::MergeKind::kAllReduce>(place, nullptr, merge, std::move(value));
}

template <class T>
T ReplicaContext::all_gather(T value, Axis axis, detail::MergePlace place) const {
  if constexpr (!detail::require_nest<T>()) {
    return value;
  } else if constexpr (detail::is_numeric_vector<T>()) {
    merges_.note(id_, value, axis.value);
    detail::AllGatherRequest<typename T::value_type> request(place, axis, value);
    merges_.meet(id_, request);
    merges_.note(id_, value);
    return value;
  } else {
    const auto merge = [site = place.site](CrossReplicaContext& cross, const PerReplica<T>& values,
                                           const PerReplica<int>& axes) {
      detail::StrategyCore& core = cross.core();
      detail::of_all_processes(core, "all_gather", axes, site, [&](const PerReplica<int>& all) {
        detail::require_same_axis(all, site);
      });
      const Axis named(*axes.begin());
      return detail::gather_of_processes(core, "all_gather", values, named, site,
                                         [&](const PerReplica<T>& all) {
                                           return detail::all_gather_value(core, all, named, site);
                                         });
    };
    return merge_at<detail::MergeKind::kAllGather>(place, nullptr, merge, std::move(value),
                                                   axis.value);
  }
}

template <class T>
  requires(!Nest<std::vector<T>>)
std::vector<T> ReplicaContext::all_gather(std::vector<T> value, detail::MergePlace place) const {
  const auto merge = [site = place.site](CrossReplicaContext& cross,
                                         const PerReplica<std::vector<T>>& values) {
    return detail::mirror(cross.core(), cross.gather(values, site));
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
      const ReduceOp reduce = reduce_op_of(aggregation);
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
