// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/kernel.h"
#include "belfry/detail/variable/aggregation.h"
#include "belfry/detail/variable_state.h"

#include <string>

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
