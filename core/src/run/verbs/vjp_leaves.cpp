// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/vjp_leaves.h"

#include "belfry/detail/strategy_reductions.h"
#include "belfry/error.h"

#include <cstddef>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace belfry::detail {

void require_linear(ReduceOp op, CallSite site) {
  require_operator(op, site);
  if (is_additive(op)) return;
  throw UnsupportedError(ErrorCode::kUnsupported,
                         "a reduction by " + to_string(op) +
                             " is not linear, and has no product "
                             "with a cotangent alone",
                         "compute the derivative from the values: all_gather gives all of them",
                         site);
}

void require_mean(const std::vector<LeafRef>& leaves, LeafPlaces place, CallSite site) {
  try {
    for (const LeafRef& leaf : leaves) require_reducible(ReduceOp::kMean, leaf, site);
  } catch (const Error&) {
    std::rethrow_exception(
        at_refused_leaf(std::current_exception(), ReduceOp::kMean, leaves, place));
  }
}

void require_part(std::size_t size, std::int64_t begin, std::int64_t extent, CallSite site) {
  if (begin >= 0 && begin + extent <= static_cast<std::int64_t>(size)) return;
  throw InvalidArgumentError(ErrorCode::kShape,
                             "a cotangent of " + std::to_string(size) + " elements has none from " +
                                 std::to_string(begin) + " to " + std::to_string(begin + extent),
                             "it has the length of what was gathered", site);
}

void throw_other_cotangent(const std::vector<LeafDescription>& gathered,
                           const std::vector<LeafDescription>& cotangent, CallSite site) {
  const auto at = [](const std::vector<LeafDescription>& leaves, std::size_t leaf) {
    return leaf < leaves.size() ? leaves[leaf].type + " at " + leaves[leaf].path
                                : leaf_text(leaves, leaf);
  };
  const std::size_t leaf = first_difference({gathered, cotangent});
  ErrorReport report;
  report.code = ErrorCode::kStructure;
  report.summary = "a cotangent has " + at(cotangent, leaf) + ", and what was gathered has " +
                   at(gathered, leaf);
  report.site = site;
  report.expected = "the leaves and keys of what was gathered";
  throw StructureMismatchError(std::move(report));
}

}  // namespace belfry::detail
