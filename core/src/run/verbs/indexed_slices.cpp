// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/indexed_slices.h"

#include "belfry/detail/strategy_reductions.h"
#include "belfry/error.h"

#include <algorithm>
#include <string>
#include <utility>

namespace belfry::detail {
namespace {

std::vector<std::int64_t> row_extents(const Shape& shape) {
  return {shape.extents().begin() + 1, shape.extents().end()};
}

ErrorReport slices_differ(std::string summary, CallSite site) {
  ErrorReport report;
  report.code = ErrorCode::kStructure;
  report.summary = std::move(summary);
  report.site = site;
  return report;
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

void require_same_dense_shape(const std::vector<Shape>& shapes, CallSite site,
                              const Participants* present) {
  if (shapes.empty()) {
    throw InvalidArgumentError(ErrorCode::kShape, "there are no slices to add up",
                               "give one or more", site);
  }
  const auto other =
      std::ranges::find_if(shapes, [&](const Shape& shape) { return shape != shapes.front(); });
  if (other == shapes.end()) return;
  ErrorReport report = slices_differ(
      "slices of " + to_string(shapes.front()) + " and of " + to_string(*other) + " do not add up",
      site);
  for (int i = 0; present != nullptr && i < present->count(); ++i) {
    report.replicas.push_back(
        {present->id(i), site,
         "brings slices of " + to_string(shapes[static_cast<std::size_t>(i)])});
  }
  report.expected = "slices of tensors of one shape";
  report.hint = "give every part the shape of the whole tensor";
  throw StructureMismatchError(std::move(report));
}

void require_same_slice_reduction(const PerReplica<ReduceOp>& ops, CallSite site) {
  if (std::ranges::all_of(ops, [&](ReduceOp op) { return op == *ops.begin(); })) return;
  ErrorReport report = slices_differ("replicas ask for different reductions of slices", site);
  const Participants& present = ops.present();
  int position = 0;
  for (const ReduceOp op : ops) {
    report.replicas.push_back({present.id(position++), site, "reduces by " + to_string(op)});
  }
  report.expected = "the same ReduceOp from every replica";
  report.hint = "choose it outside the replica function";
  throw StructureMismatchError(std::move(report));
}

void require_slice_reduction(ReduceOp op, DType dtype, CallSite site) {
  require_reducible(op, dtype, site);
  if (is_additive(op)) return;
  throw UnsupportedError(ErrorCode::kUnsupported, "slices have no " + to_string(op),
                         "a row that a replica lacks is 0 there: reduce dense tensors, or scatter "
                         "rows to a variable in cross-replica context",
                         site);
}

}  // namespace belfry::detail
