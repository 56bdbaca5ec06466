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

void require_combinable(ScatterOp op, const VariableInfo& info, CallSite site) {
  // Rows that are parts of a sum or a mean have no meaningful least row, and no last row.
  if (info.aggregation == Aggregation::kOnlyFirst || op <= ScatterOp::kDivide) return;
  throw UnsupportedError(
      ErrorCode::kUnsupported,
      describe_change(op, info) + " in a replica: slices that are combined by " +
          to_string(info.aggregation) + " can be added, subtracted, multiplied or divided by",
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
