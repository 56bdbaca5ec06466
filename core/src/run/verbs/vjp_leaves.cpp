// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/vjp_leaves.h"

#include "belfry/backend/current_slot.h"
#include "belfry/detail/strategy_reductions.h"
#include "belfry/error.h"
#include "collectives/fold_leaf.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <numeric>
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

std::vector<std::int64_t> leaf_after_leaf(const std::vector<std::int64_t>& all,
                                          std::size_t leaves) {
  std::vector<std::int64_t> sizes;
  for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
    for (std::size_t at = leaf; at < all.size(); at += leaves) sizes.push_back(all[at]);
  }
  return sizes;
}

void require_whole(const std::vector<std::int64_t>& extents, const std::vector<std::int64_t>& sizes,
                   CallSite site) {
  for (std::size_t leaf = 0; leaf < extents.size(); ++leaf) {
    const auto parts = static_cast<std::ptrdiff_t>(sizes.size() / extents.size());
    const auto begin = sizes.begin() + static_cast<std::ptrdiff_t>(leaf) * parts;
    const std::int64_t whole = std::accumulate(begin, begin + parts, std::int64_t{0});
    if (extents[leaf] == whole) continue;
    throw InvalidArgumentError(ErrorCode::kShape,
                               "a cotangent of " + std::to_string(extents[leaf]) +
                                   " elements along the axis, and " + std::to_string(whole) +
                                   " were gathered",
                               "it has the length of what was gathered", site);
  }
}

bool has_sender_of_several(std::vector<std::pair<int, int>> pairs) {
  std::ranges::sort(pairs);
  const auto same_sender = [](const auto& a, const auto& b) { return a.first == b.first; };
  return std::ranges::adjacent_find(pairs, same_sender) != pairs.end();
}

void sum_into_first(std::span<const std::vector<LeafRef>> parts, CallSite site) {
  const SiteScope scope(site);
  for (const LeafRef& leaf : parts.front()) require_reducible(ReduceOp::kSum, leaf, site);
  for (std::size_t leaf = 0; leaf < parts.front().size(); ++leaf) {
    fold_leaf(ReduceOp::kSum, parts, leaf);
  }
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
