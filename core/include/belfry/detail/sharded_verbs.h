// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/merge_request.h"
#include "belfry/detail/sharded_values.h"
#include "belfry/detail/variable/aggregation.h"
#include "belfry/shape.h"
#include "belfry/sharded_variable.h"
#include "belfry/tensor.h"

#include <utility>

namespace belfry::detail {

/// Makers and reads of sharded variables, of a strategy.
template <class Self>
class ShardedVerbs {
 public:
  /// A tensor whose rows along `axis` are shared out: each replica keeps its own (SEM-280). `init`
  /// is the whole, or a function of no arguments that makes the whole once, on the host.
  ///
  ///     auto table = strategy.sharded_variable([] { return Tensor<float>::zeros({6, 2}); },
  ///                                            Axis(0), {.name = "table"});
  ///
  /// With a shape in front, `rows(begin, end)` is called for each replica, on its device, and makes
  /// the rows of this replica: nobody makes the whole.
  /// Order: as Strategy::mirrored_variable. Throws, beside the errors of mirrored_variable:
  /// - InvalidArgumentError (kShape): an axis out of range, or rows of another shape;
  /// - InvalidArgumentError (kDestination): options or scopes that leave a replica without a part.
  template <class Init>
  auto sharded_variable(const Init& init, Axis axis, VariableOptions options = {},
                        MergePlace place = CallSite::here()) {
    return make_sharded(core(), cross(), init, axis, std::move(options), place);
  }
  template <class F>
  auto sharded_variable(const Shape& shape, const F& rows, Axis axis, VariableOptions options = {},
                        MergePlace place = CallSite::here()) {
    ShardedInit first;
    first.axis = axis;
    first.shape = shape;
    return make_sharded_by_rows(core(), cross(), std::move(first), rows, std::move(options), place);
  }

  /// The whole of a sharded variable, on the device of replica 0 (SEM-282).
  /// Order: copies are enqueued.
  /// Throws: the errors of CrossReplicaContext::gather; InvalidArgumentError (kShape) for a part
  /// that lost its shape.
  template <class T>
  Tensor<T> read(const ShardedVariable<T>& variable, CallSite site = CallSite::here()) {
    core().require_cross("read", site);
    return read_sharded(core(), cross(), variable, site);
  }

 private:
  CrossReplicaContext& cross() { return static_cast<Self&>(*this).cross_replica(); }
  StrategyCore& core() { return cross().core(); }
};

}  // namespace belfry::detail
