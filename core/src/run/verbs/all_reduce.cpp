// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/cross_replica_context.h"
#include "belfry/detail/all_reduce_request.h"
#include "belfry/detail/reduce_values.h"
#include "belfry/detail/step_tap.h"
#include "belfry/detail/strategy_reductions.h"
#include "belfry/error.h"
#include "run/verbs/structure_hint.h"
#include "run/verbs/sum_overflow.h"

#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace belfry::detail {
namespace {

AllReduceRequest& at(MergeRequest* const* requests, int replica) {
  return static_cast<AllReduceRequest&>(*requests[replica]);
}

[[noreturn]] void throw_ops_differ(MergeRequest* const* requests, const Participants& present) {
  ErrorReport report;
  report.code = ErrorCode::kStructure;
  report.summary = "replicas ask for different reductions in one all_reduce";
  for (int i = 0; i < present.count(); ++i) {
    const int replica = present.id(i);
    report.replicas.push_back(
        {replica, requests[replica]->site, "reduces by " + to_string(at(requests, replica).op)});
  }
  report.expected = "the same operator on every replica";
  throw StructureMismatchError(std::move(report));
}

// Names the first leaf that differs between a replica and the first replica, and each replica's
// leaf.
[[noreturn]] void throw_leaves_differ(MergeRequest* const* requests, const Participants& present) {
  std::vector<std::vector<LeafDescription>> brought;
  std::vector<int> replicas;
  for (int i = 0; i < present.count(); ++i) {
    replicas.push_back(present.id(i));
    const AllReduceRequest& request = at(requests, present.id(i));
    brought.push_back(request.describe(request.value));
  }
  const std::size_t leaf = first_difference(brought);
  ErrorReport report;
  report.code = ErrorCode::kStructure;
  report.summary = "values of different structure meet in all_reduce";
  for (int i = 0; i < present.count(); ++i) {
    const int replica = present.id(i);
    const std::vector<LeafDescription>& own = brought[static_cast<std::size_t>(i)];
    std::string what = (leaf < own.size() ? "brings " : "has ") + leaf_text(own, leaf);
    if (leaf < own.size() && !own[leaf].path.empty()) what += " at " + own[leaf].path;
    report.replicas.push_back({replica, requests[replica]->site, std::move(what), {}});
  }
  report.expected = "the same structure, lengths and shapes on every replica";
  report.hint = structure_hint(replicas, brought,
                               "pad the values, or gather them when lengths differ on purpose");
  throw StructureMismatchError(std::move(report));
}

[[noreturn]] void throw_overflow(const SumOverflow& found, const std::string& place,
                                 MergeRequest* const* requests, const Participants& present) {
  std::vector<ReplicaReport> replicas;
  for (int i = 0; i < present.count(); ++i) {
    replicas.push_back({present.id(i), requests[present.id(i)]->site, ""});
  }
  throw_sum_overflow(found, place, std::move(replicas), {});
}

}  // namespace

void all_reduce_requests(CrossReplicaContext& cross, MergeRequest* const* requests,
                         const Participants& present) {
  AllReduceRequest& first = at(requests, present.id(0));
  std::vector<std::vector<LeafRef>> parts;
  parts.reserve(static_cast<std::size_t>(present.count()));
  for (int i = 0; i < present.count(); ++i) {
    AllReduceRequest& request = at(requests, present.id(i));
    if (request.op != first.op) throw_ops_differ(requests, present);
    if (!first.same(first.value, request.value) || !same_leaves(first.leaves, request.leaves)) {
      throw_leaves_differ(requests, present);
    }
  }
  require_operator(first.op, {});  // Also where no leaf asks.
  for (int i = 0; i < present.count(); ++i) {
    parts.push_back(std::move(at(requests, present.id(i)).leaves));
  }
  const auto place = [&first](std::size_t leaf) {
    return place_in_value(first.describe(first.value), leaf);
  };
  if (cross.core().reports_overflow()) [[unlikely]] {
    const auto found = find_sum_overflow(first.op, parts);
    if (found) throw_overflow(*found, place(found->leaf), requests, present);
  }
  try {
    reduce_in_tap(cross.core(), {first.op, parts, true, present});
  } catch (const Error&) {
    std::rethrow_exception(
        at_refused_leaf(std::current_exception(), first.op, parts.front(), place));
  }
}

}  // namespace belfry::detail
