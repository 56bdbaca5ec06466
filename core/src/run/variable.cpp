// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/variable.h"

#include <string>
#include <utility>

#include "belfry/backend/host_kernels.h"
#include "belfry/cross_replica_context.h"
#include "belfry/detail/make_variable.h"
#include "belfry/error.h"

namespace belfry {

std::string to_string(Aggregation aggregation) {
  switch (aggregation) {
    case Aggregation::kNone:
      return "none";
    case Aggregation::kSum:
      return "sum";
    case Aggregation::kMean:
      return "mean";
    case Aggregation::kOnlyFirst:
      return "only-first";
  }
  return "?";
}

namespace detail {

void throw_empty_variable(CallSite site) {
  throw InvalidArgumentError(ErrorCode::kVariableEmpty,
                             "a default-constructed variable handle was used",
                             "make it with mirrored_variable or replica_local_variable", site);
}

void touch_variable(const ReplicaContext& replica, const VariableInfo& info, bool write,
                    CallSite site) {
  MergePoint& merges = replica.merges();
  require_owner(merges.core(), info, site);
  const CurrentContext* context = current_context();
  if (context == nullptr || context->replica != &replica) {
    throw ContextError(ErrorCode::kWrongContext,
                       info.name + " was asked for through a replica context that is not current",
                       "in a merge use the component that update hands over, or read()", site);
  }
  merges.touch(replica.replica_id(),
               write ? OperationKind::kVariableWrite : OperationKind::kVariableRead, info.number,
               site);
}

int component_of(const ReplicaContext& replica) { return replica.replica_id(); }

VariableInfo new_variable(StrategyCore& core, VariableOptions options, CallSite site) {
  core.require_cross("making a variable", site);
  VariableInfo info;
  info.owner = &core;
  info.number = core.next_variable();
  info.name = options.name.empty() ? "variable " + std::to_string(info.number)
                                   : std::move(options.name);
  info.aggregation = options.aggregation;
  info.trainable = options.trainable;
  info.created = site;
  return info;
}

void combine_leaves(AssignOp op, std::vector<LeafRef> target, std::vector<LeafRef> delta) {
  if (!same_leaves(target, delta)) {
    throw StructureMismatchError(ErrorCode::kStructure,
                                 "a value of another structure cannot be added to a variable");
  }
  KernelParameters parameters;
  parameters.binary = op == AssignOp::kAdd ? BinaryOp::kAdd : BinaryOp::kSubtract;
  for (std::size_t i = 0; i < target.size(); ++i) {
    const LeafRef& to = target[i];
    if (to.tensor == nullptr) {
      const KernelOperand left{to.data, to.count, to.dtype};
      const KernelOperand right{delta[i].data, delta[i].count, delta[i].dtype};
      run_on_host({KernelKind::kBinary, parameters, {left}, {left, right}});
    } else {
      const BufferView view = to.tensor->writable(true);
      const AnyTensor local = delta[i].tensor->copy_to(to.tensor->placement());
      device_of(to.tensor->placement())
          .compute_stream()
          .launch({KernelKind::kBinary, parameters, {view}, {view, local.view()}});
    }
  }
}

}  // namespace detail
}  // namespace belfry
