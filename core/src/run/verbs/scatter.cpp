// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/scatter.h"

#include "belfry/detail/tensor/axis.h"
#include "belfry/error.h"

#include <string>

namespace belfry::detail {

void require_shape_of(const Shape& slices, const Shape& component, const VariableInfo& info,
                      CallSite site) {
  if (slices == component) return;
  throw InvalidArgumentError(ErrorCode::kShape,
                             "slices of a tensor " + to_string(slices) + " are scattered to " +
                                 info.name + ", which is " + to_string(component),
                             "give the slices the shape of the whole variable", site);
}

namespace {

// Rows that are parts of a sum or a mean have no meaningful least row, and no last row. An extreme
// or a product of all rows is the same operation, row by row.
bool are_combinable(ScatterOp op, Aggregation by) {
  switch (by) {
    case Aggregation::kOnlyFirst:
      return true;
    case Aggregation::kMax:
      return op == ScatterOp::kMaximum;
    case Aggregation::kMin:
      return op == ScatterOp::kMinimum;
    case Aggregation::kProd:
      return op == ScatterOp::kMultiply;
    default:
      return op <= ScatterOp::kDivide;
  }
}

std::string_view combinable_by(Aggregation by) {
  switch (by) {
    case Aggregation::kMax:
      return "raised (ScatterOp::kMaximum)";
    case Aggregation::kMin:
      return "lowered (ScatterOp::kMinimum)";
    case Aggregation::kProd:
      return "multiplied by";
    default:
      return "added, subtracted, multiplied or divided by";
  }
}

}  // namespace

void require_combinable(ScatterOp op, const VariableInfo& info, CallSite site) {
  if (are_combinable(op, info.aggregation)) return;
  throw UnsupportedError(
      ErrorCode::kUnsupported,
      describe_change(op, info) + " in a replica: slices that are combined by " +
          to_string(info.aggregation) + " can be " + std::string(combinable_by(info.aggregation)),
      "make it (" + to_string(info.created) +
          ") with {.aggregation = Aggregation::kOnlyFirst}, or scatter in cross-replica context",
      site);
}

void throw_local_scatter(const VariableInfo& info, CallSite site) {
  throw UnsupportedError(
      ErrorCode::kUnsupported, "replica-local " + info.name + " takes no scatter in a replica",
      "change the replica's own component: scatter_rows of variable.on(replica)", site);
}

std::int64_t row_size(const Shape& shape) { return extents_product(shape, 1, shape.rank()); }

}  // namespace belfry::detail
