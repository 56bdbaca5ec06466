// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/replica_merges.h"
#include "kernels/names.h"

namespace belfry::detail {

std::string describe_change(AssignOp op, const VariableInfo& info) {
  switch (op) {
    case AssignOp::kSet:
      return "assign to " + info.name;
    case AssignOp::kAdd:
      return "assign_add to " + info.name;
    case AssignOp::kSubtract:
      return "assign_sub to " + info.name;
  }
  return info.name;
}

std::string describe_change(ScatterOp op, const VariableInfo& info) {
  return "scatter " + std::string(kernels::name_of(op)) + " to " + info.name;
}

}  // namespace belfry::detail
