// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/indexed_slices.h"

#include "belfry/error.h"
#include "collectives/require_reducible.h"

#include <algorithm>
#include <string>

namespace belfry::detail {
namespace {

std::vector<std::int64_t> row_extents(const Shape& shape) {
  return {shape.extents().begin() + 1, shape.extents().end()};
}

}  // namespace

void require_slices(const Shape& values, const Shape& indices, const Shape& dense, CallSite site) {
  const bool fits = values.rank() > 0 && dense.rank() > 0 && indices.rank() == 1 &&
                    indices.count() == values.extents()[0] &&
                    row_extents(values) == row_extents(dense);
  if (fits) return;
  throw InvalidArgumentError(ErrorCode::kShape,
                             "slices with values " + to_string(values) + " and indices " +
                                 to_string(indices) + " of a tensor " + to_string(dense),
                             "k rows need k indices, and rows as long as those of the dense tensor",
                             site);
}

void require_same_dense_shape(const std::vector<Shape>& shapes, CallSite site) {
  if (shapes.empty()) {
    throw InvalidArgumentError(ErrorCode::kShape, "there are no slices to add up",
                               "give one or more", site);
  }
  const auto other =
      std::ranges::find_if(shapes, [&](const Shape& shape) { return shape != shapes.front(); });
  if (other == shapes.end()) return;
  throw StructureMismatchError({.code = ErrorCode::kStructure,
                                .summary = "slices of " + to_string(shapes.front()) + " and of " +
                                           to_string(*other) + " do not add up",
                                .site = site,
                                .replicas = {},
                                .expected = "slices of tensors of one shape",
                                .hint = "give every part the shape of the whole tensor"});
}

void require_slice_reduction(const std::vector<ReduceOp>& ops, DType dtype, CallSite site) {
  const auto other = std::ranges::find_if(ops, [&](ReduceOp op) { return op != ops.front(); });
  if (other != ops.end()) {
    throw StructureMismatchError({.code = ErrorCode::kStructure,
                                  .summary = "replicas ask for different reductions of slices",
                                  .site = site,
                                  .replicas = {},
                                  .expected = "the same ReduceOp from every replica",
                                  .hint = "choose it outside the replica function"});
  }
  require_reducible(ops.front(), dtype, site);
}

}  // namespace belfry::detail
