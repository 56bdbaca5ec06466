// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/gather_values.h"
#include "belfry/detail/gathered_lists.h"
#include "belfry/detail/process_values.h"
#include "belfry/detail/reductions/reduce_op.h"
#include "belfry/detail/refused.h"
#include "belfry/detail/tensor_moves.h"
#include "belfry/nest.h"
#include "belfry/shape.h"

#include <utility>
#include <vector>

namespace belfry::detail {

/// Verbs of the cross-replica context along an axis; replicas may bring different lengths.
template <class Self>
class AxisVerbs {
 public:
  /// Reduces along an axis of the components and over all replicas; the result lacks the axis. MEAN
  /// divides once, by the number of elements of all replicas along the axis: a batch of 3 and a
  /// batch of 1 are divided by 4 (SEM-120).
  /// Order: vectors at once; tensors are enqueued.
  /// Throws:
  /// - InvalidArgumentError (kShape): an axis out of range;
  /// - InvalidArgumentError (kInvalidArgument): the mean of no elements;
  /// - InvalidArgumentError (kIntegerMean): the mean of integers;
  /// - InvalidArgumentError (kDType): types without sums;
  /// - StructureMismatchError (kStructure): ranks or other extents differ.
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
  /// The mean along an axis of a value that all replicas share; SUM does not compile (SEM-34).
  /// Order, Throws: as above.
  template <class T>
    requires(is_numeric_vector<T>() || IsTensor<T>::value)
  auto reduce(MeanOnly, const Mirrored<T>& value, Axis axis, CallSite site = CallSite::here()) {
    core().require_cross("reduce", site);
    require_replicas(core(), value.size(), site);
    return reduce_along(core(), ReduceOp::kMean, component_of_first(value), axis, site);
  }
  /// Reduces all elements of all lists, as `map` returns them, beginning with replica 0's
  /// (SEM-123).
  /// Order: host leaves at once; tensors are enqueued on replica 0's compute stream, and copies to
  /// the other devices.
  /// Throws:
  /// - InvalidArgumentError (kInvalidArgument): all lists are empty;
  /// - InvalidArgumentError (kIntegerMean): the mean of integers;
  /// - InvalidArgumentError (kDType): bool;
  /// - StructureMismatchError (kStructure): two elements differ in structure.
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

  /// Joins the components along `axis`, in replica order, leaf by leaf; extents may differ along
  /// `axis` alone. Tensors come to replica 0's device (SEM-121).
  /// Order: vectors at once; copies of tensors are enqueued.
  /// Throws:
  /// - StructureMismatchError (kStructure): structures or other extents differ;
  /// - InvalidArgumentError (kShape): an axis out of range.
  template <class T>
  T gather(const PerReplica<T>& value, Axis axis, CallSite site = CallSite::here()) {
    if constexpr (is_numeric_vector<T>()) {
      require("gather", value, site);
      return gather_list(core(), value, axis, site);
    } else if constexpr (require_nest<T>()) {
      require("gather", value, site);
      return gather_of_processes(core(), "gather", value, axis, site, [&](const auto& all) {
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
  /// Joins lists of elements without leaves.
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
