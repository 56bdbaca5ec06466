// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/reduce_values.h"

#include "belfry/backend/current_slot.h"
#include "belfry/detail/step_tap.h"
#include "belfry/detail/strategy_reductions.h"
#include "belfry/error.h"
#include "run/verbs/structure_hint.h"
#include "run/verbs/sum_overflow.h"
#include "words/with_report.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <utility>

namespace belfry::detail {
namespace {

// Of `components`, each belongs to the replica in the same place.
[[noreturn]] void throw_of_replicas(const std::vector<int>& replicas,
                                    const std::vector<std::vector<LeafDescription>>& components,
                                    CallSite site) {
  const std::size_t leaf = first_difference(components);
  ErrorReport report;
  report.code = ErrorCode::kStructure;
  report.summary = "components of different structure cannot be combined";
  report.site = site;
  for (std::size_t i = 0; i < components.size(); ++i) {
    const std::vector<LeafDescription>& own = components[i];
    std::string what = "has " + leaf_text(own, leaf);
    if (leaf < own.size()) what += " at leaf " + std::to_string(leaf) + own[leaf].path;
    report.replicas.push_back({replicas[i], site, std::move(what), {}});
  }
  report.expected = "the same structure, lengths and shapes in every component";
  report.hint = structure_hint(replicas, components, "");
  throw StructureMismatchError(std::move(report));
}

void require_sums_fit(const ReduceCall& call, LeafPlaces place, CallSite site) {
  const auto found = find_sum_overflow(call.op, call.parts);
  if (!found) return;
  std::vector<ReplicaReport> replicas;
  for (int i = 0; i < call.present.count(); ++i) {
    replicas.push_back({call.replica(i), site, ""});
  }
  throw_sum_overflow(*found, place(found->leaf), std::move(replicas), site);
}

}  // namespace

bool same_leaves(const std::vector<LeafRef>& a, const std::vector<LeafRef>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].dtype != b[i].dtype || a[i].count != b[i].count || a[i].own != b[i].own) return false;
    if ((a[i].tensor == nullptr) != (b[i].tensor == nullptr)) return false;
    if (a[i].tensor != nullptr && a[i].tensor->shape() != b[i].tensor->shape()) return false;
  }
  return true;
}

std::string place_of_leaf(const std::vector<LeafDescription>& words, std::size_t leaf) {
  if (leaf >= words.size() || (words.size() == 1 && words[0].path.empty())) return "";
  return " at leaf " + std::to_string(leaf) + words[leaf].path;
}

std::size_t word_of_leaf(const std::vector<LeafDescription>& words, std::size_t leaf) {
  std::size_t word = 0;
  for (std::size_t left = leaf; word < words.size() && (left > 0 || !is_of_leaf(words[word]));
       ++word) {
    if (is_of_leaf(words[word])) --left;
  }
  return word;
}

std::string place_in_value(const std::vector<LeafDescription>& words, std::size_t leaf) {
  return place_of_leaf(words, word_of_leaf(words, leaf));
}

std::exception_ptr at_refused_leaf(std::exception_ptr error, ReduceOp op,
                                   const std::vector<LeafRef>& leaves, LeafPlaces place) {
  std::optional<ErrorReport> report = error_report(error);
  if (!report) return error;
  if (report->code != ErrorCode::kDType && report->code != ErrorCode::kIntegerMean) return error;
  const auto refused = std::ranges::find_if(leaves, [op](const LeafRef& leaf) {
    if (leaf.own != nullptr) {
      return !is_additive(op) || (op == ReduceOp::kMean && leaf.own->divide == nullptr);
    }
    return leaf.dtype == DType::kBool || (op == ReduceOp::kMean && !is_floating(leaf.dtype));
  });
  if (refused == leaves.end()) return error;
  report->summary += place(static_cast<std::size_t>(refused - leaves.begin()));
  return with_report(std::move(error), *report);
}

void reduce_in_tap(StrategyCore& core, const ReduceCall& call) {
  if (step_tap == nullptr) [[likely]]
    return core.reduce(call);
  const auto hook = [&] { core.reduce(call); };
  step_tap->around_reduce(core, call, hook);
}

void reduce_at(CallSite site, StrategyCore& core, const ReduceCall& call, LeafPlaces place) {
  const SiteScope scope(site);
  require_operator(call.op, site);  // Also where no leaf asks.
  if (core.reports_overflow()) [[unlikely]] {
    require_sums_fit(call, place, site);
  }
  try {
    reduce_in_tap(core, call);
  } catch (const Error&) {
    std::rethrow_exception(at_refused_leaf(at_site(std::current_exception(), site), call.op,
                                           call.parts.front(), place));
  }
}

void reduce_at(CallSite site, StrategyCore& core, const ReduceCall& call) {
  const auto nowhere = [](std::size_t /*leaf*/) { return std::string(); };
  reduce_at(site, core, call, nowhere);
}

void fold_at(CallSite site, StrategyCore& core, ReduceOp op,
             std::span<const std::vector<LeafRef>> parts, LeafPlaces place) {
  const SiteScope scope(site);
  require_operator(op, site);
  if (core.reports_overflow()) [[unlikely]] {
    // The parts are elements of lists, and a replica may have several.
    const auto found = find_sum_overflow(op, parts);
    if (found) throw_sum_overflow(*found, place(found->leaf), {}, site);
  }
  try {
    core.reductions().fold(op, parts);
  } catch (const Error&) {
    std::rethrow_exception(
        at_refused_leaf(at_site(std::current_exception(), site), op, parts.front(), place));
  }
}

std::size_t first_difference(const std::vector<std::vector<LeafDescription>>& components) {
  const std::vector<LeafDescription>& first = components.front();
  std::size_t lowest = first.size();
  for (const std::vector<LeafDescription>& own : components) {
    std::size_t index = 0;
    while (index < lowest && index < own.size() && first[index] == own[index]) ++index;
    lowest = index;
  }
  return lowest;
}

std::string leaf_text(const std::vector<LeafDescription>& leaves, std::size_t leaf) {
  if (leaf < leaves.size()) return leaves[leaf].type;
  return leaves.size() == 1 ? "1 leaf" : std::to_string(leaves.size()) + " leaves";
}

void throw_structures_differ(const Participants& present,
                             const std::vector<std::vector<LeafDescription>>& components,
                             CallSite site) {
  std::vector<int> replicas;
  replicas.reserve(static_cast<std::size_t>(present.count()));
  for (int i = 0; i < present.count(); ++i) replicas.push_back(present.id(i));
  throw_of_replicas(replicas, components, site);
}

void throw_structures_differ(int replica, const std::vector<LeafDescription>& first,
                             const std::vector<LeafDescription>& other, CallSite site,
                             int first_replica) {
  throw_of_replicas({first_replica, replica}, {first, other}, site);
}

void throw_other_replicas(int size, int replicas, CallSite site) {
  throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                             "a value of " + std::to_string(size) + " replicas in a strategy of " +
                                 std::to_string(replicas),
                             "give it one component for each replica", site);
}

void require_all_replicas(StrategyCore& core, int components, CallSite site) {
  if (components == core.size()) return;
  throw UnsupportedError(ErrorCode::kUnsupported,
                         "tensors of " + std::to_string(components) + " of " +
                             std::to_string(core.size()) + " replicas cannot be reduced",
                         "read the components one by one with local_values", site);
}

}  // namespace belfry::detail
