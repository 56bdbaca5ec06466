// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/axis_reduce.h"
#include "belfry/detail/gather_values.h"
#include "belfry/detail/mean_only.h"
#include "belfry/detail/process_values.h"
#include "belfry/detail/refused.h"
#include "belfry/nest.h"
#include "belfry/shape.h"

#include <utility>
#include <vector>

namespace belfry::detail {

/// Verbs of the cross-replica context along an axis; replicas may bring different lengths.
template <class Self>
class AxisVerbs {
 public:
  /// The reduction over an axis of the components and over all replicas; the result lacks the axis.
  /// MEAN divides once, by the number of elements of all replicas along the axis: true elements,
  /// also if lengths differ (SEM-120).
  /// Order: vectors at once; tensors are enqueued, the host does not block.
  /// Throws: InvalidArgumentError (kShape) for an axis out of range, (kInvalidArgument) for the
  /// mean of no elements or a value of another number of replicas, (kIntegerMean), (kDType) for
  /// types without sums; StructureMismatchError (kStructure) if ranks or other extents differ.
  template <Element T>
  Mirrored<T> reduce(ReduceOp op, const PerReplica<std::vector<T>>& value, Axis axis,
                     CallSite site = CallSite::here()) {
    require("reduce", value, site);
    return of_all_processes(core(), "reduce", value, site, [&](const auto& all) {
      return reduce_along(core(), op, all, axis, site);
    });
  }
  template <Element T>
  Mirrored<Tensor<T>> reduce(ReduceOp op, const PerReplica<Tensor<T>>& value, Axis axis,
                             CallSite site = CallSite::here()) {
    require("reduce", value, site);
    return of_all_processes(core(), "reduce", value, site, [&](const auto& all) {
      return reduce_along(core(), op, all, axis, site);
    });
  }
  /// Values of other types have no axis; the call does not compile.
  template <class T>
    requires(!is_numeric_vector<T>() && !IsTensor<T>::value)
  Refused reduce(ReduceOp, const PerReplica<T>&, Axis, CallSite = CallSite::here()) {
    static_assert(
        is_numeric_vector<T>(),
        "reduce along an axis takes vectors of numbers, and tensors: write reduce for each "
        "member of a structure");
    return {};
  }
  /// MEAN along an axis of a Mirrored is the mean of a single component; SUM does not compile
  /// (SEM-34). Order, Throws: as above.
  template <class T>
    requires(is_numeric_vector<T>() || IsTensor<T>::value)
  auto reduce(MeanOnly, const Mirrored<T>& value, Axis axis, CallSite site = CallSite::here()) {
    core().require_cross("reduce", site);
    require_replicas(core(), value.size(), site);
    return reduce_along(core(), ReduceOp::kMean, component_of_first(value), axis, site);
  }
  /// The reduction over all elements of all lists, as `map` returns them: replica 0's first
  /// (SEM-123). Order: host leaves at once; tensors are enqueued on replica 0's compute stream, and
  /// copies to the other devices. Throws: InvalidArgumentError (kInvalidArgument) if all lists are
  /// empty or are of another number of replicas, (kIntegerMean), (kDType) for bool;
  /// StructureMismatchError (kStructure) if two elements differ in structure.
  template <class R>
  Mirrored<R> reduce_mapped(ReduceOp op, const PerReplica<std::vector<R>>& lists,
                            CallSite site = CallSite::here()) {
    if constexpr (require_nest<R>()) {
      require("reduce_mapped", lists, site);
      return of_all_processes(core(), "reduce_mapped", lists, site,
                              [&](const auto& all) { return reduce_lists(core(), op, all, site); });
    } else {
      return Refused();
    }
  }

  /// The mean of the elements of a mirrored list; SUM does not compile (SEM-34).
  template <Nest R>
  Mirrored<R> reduce_mapped(MeanOnly, const Mirrored<std::vector<R>>& list,
                            CallSite site = CallSite::here()) {
    core().require_cross("reduce_mapped", site);
    require_replicas(core(), list.size(), site);
    return reduce_lists(core(), ReduceOp::kMean, component_of_first(list), site);
  }

  /// The components joined along `axis`, in replica order, leaf by leaf; extents may differ along
  /// the axis alone. Tensors come to replica 0's device (SEM-121).
  /// Order: vectors at once; copies of tensors are enqueued, the host does not block.
  /// Throws: StructureMismatchError (kStructure) for other differences; InvalidArgumentError
  /// (kShape) for an axis out of range, (kInvalidArgument) for a value of another number of
  /// replicas or a default-constructed tensor.
  template <class T>
  T gather(const PerReplica<T>& value, Axis axis, CallSite site = CallSite::here()) {
    if constexpr (require_nest<T>()) {
      require("gather", value, site);
      return of_all_processes(core(), "gather", value, site, [&](const auto& all) {
        return T(std::move(gather_components(core(), all, axis, 1, site)[0]));
      });
    } else {
      return Refused();
    }
  }
  template <class T>
  T gather(const PerReplica<T>& value, CallSite site = CallSite::here()) {
    if constexpr (require_nest<T>()) {
      return gather(value, Axis(0), site);
    } else {
      return Refused();
    }
  }
  /// Lists of elements without leaves: the concatenation.
  template <class T>
    requires(!Nest<std::vector<T>>)
  std::vector<T> gather(const PerReplica<std::vector<T>>& value, CallSite site = CallSite::here()) {
    require("gather", value, site);
    return of_all_processes(core(), "gather", value, site, [&](const auto& parts) {
      std::vector<T> all;
      for (const std::vector<T>& part : parts) all.insert(all.end(), part.begin(), part.end());
      return all;
    });
  }

 private:
  template <class T>
  void require(const char* what, const PerReplica<T>& value, CallSite site) {
    core().require_cross(what, site);
    require_replicas(core(), value.size(), site);
  }
  // The component of replica 0 as the only component.
  template <class T>
  static PerReplica<T> component_of_first(const Mirrored<T>& value) {
    ReplicaArray<T> first(1);
    first.emplace_back(value.value());
    return PerReplica<T>(std::move(first), Participants(value.size(), {0}));
  }
  StrategyCore& core() { return static_cast<Self&>(*this).core(); }
};

}  // namespace belfry::detail
