// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/axis.h"
#include "belfry/nest.h"
#include "belfry/reduce_op.h"
#include "belfry/reduction.h"
#include "belfry/run_options.h"

#include <utility>

namespace belfry::detail {

/// The verbs of a replica that merge, with a tag as their first argument: each is the verb of the
/// same name, and the tag names the merge (SEM-132). Order, Throws: as that verb.
template <class Self>
class TaggedVerbs {
 public:
  template <Nest T>
  T all_reduce(const MergeTag& tag, ReduceOp op, T value) {
    return self().all_reduce(op, std::move(value), tag);
  }
  template <class R, class T>
    requires Reduction<R, T>
  ReductionResult<R, T> all_reduce(const MergeTag& tag, const R& reduction, T value) {
    return self().all_reduce(reduction, std::move(value), tag);
  }
  template <Nest T>
  T all_gather(const MergeTag& tag, T value, Axis axis = Axis(0)) {
    return self().all_gather(std::move(value), axis, tag);
  }

  /// The assignment of a replica-local variable is no merge, and its tag has no effect.
  template <class V, class T>
  void assign(const MergeTag& tag, const V& variable, T value) {
    self().assign(variable, std::move(value), tag);
  }
  template <class V, class T>
  void assign_add(const MergeTag& tag, const V& variable, T value) {
    self().assign_add(variable, std::move(value), tag);
  }
  template <class V, class T>
  void assign_sub(const MergeTag& tag, const V& variable, T value) {
    self().assign_sub(variable, std::move(value), tag);
  }

 private:
  Self& self() { return static_cast<Self&>(*this); }
};

}  // namespace belfry::detail
