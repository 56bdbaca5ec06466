// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/cross_replica_context.h"
#include "belfry/detail/all_reduce_request.h"
#include "belfry/error.h"
#include "collectives/require_reducible.h"

#include <utility>

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

std::string leaf_text(const std::vector<LeafDescription>& leaves, std::size_t index) {
  if (index >= leaves.size()) return "has " + std::to_string(leaves.size()) + " leaves";
  const std::string& path = leaves[index].path;
  return "brings " + leaves[index].type + (path.empty() ? "" : " at " + path);
}

// Names the first leaf in which any replica differs from the first, and what each brings there.
[[noreturn]] void throw_leaves_differ(MergeRequest* const* requests, const Participants& present,
                                      int culprit) {
  const int leader = present.id(0);
  const auto first = at(requests, leader).describe(at(requests, leader).value);
  const auto other = at(requests, culprit).describe(at(requests, culprit).value);
  std::size_t index = 0;
  while (index < first.size() && index < other.size() && first[index] == other[index]) ++index;
  ErrorReport report;
  report.code = ErrorCode::kStructure;
  report.summary = "values of different structure meet in all_reduce";
  for (int i = 0; i < present.count(); ++i) {
    const int replica = present.id(i);
    AllReduceRequest& request = at(requests, replica);
    report.replicas.push_back(
        {replica, request.site, leaf_text(request.describe(request.value), index)});
  }
  report.expected = "the same structure, lengths and shapes on every replica";
  report.hint = "pad the values, or gather them when lengths differ on purpose";
  throw StructureMismatchError(std::move(report));
}

}  // namespace

void execute_all_reduce(CrossReplicaContext& cross, MergeRequest* const* requests,
                        const Participants& present) {
  AllReduceRequest& first = at(requests, present.id(0));
  std::vector<std::vector<LeafRef>> parts;
  parts.reserve(static_cast<std::size_t>(present.count()));
  for (int i = 0; i < present.count(); ++i) {
    AllReduceRequest& request = at(requests, present.id(i));
    if (request.op != first.op) throw_ops_differ(requests, present);
    if (!first.same(first.value, request.value) || !same_leaves(first.leaves, request.leaves)) {
      throw_leaves_differ(requests, present, present.id(i));
    }
  }
  require_operator(first.op, {});  // Also where no leaf asks.
  for (int i = 0; i < present.count(); ++i) {
    parts.push_back(std::move(at(requests, present.id(i)).leaves));
  }
  cross.core().reduce({first.op, parts, true, present});
}

}  // namespace belfry::detail
