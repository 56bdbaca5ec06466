// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/reduce_values.h"

#include "belfry/error.h"
#include "collectives/require_reducible.h"
#include "words/with_report.h"

#include <exception>
#include <string>
#include <utility>

namespace belfry::detail {

bool same_leaves(const std::vector<LeafRef>& a, const std::vector<LeafRef>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].dtype != b[i].dtype || a[i].count != b[i].count) return false;
    if ((a[i].tensor == nullptr) != (b[i].tensor == nullptr)) return false;
    if (a[i].tensor != nullptr && a[i].tensor->shape() != b[i].tensor->shape()) return false;
  }
  return true;
}

void reduce_at(CallSite site, StrategyCore& core, const ReduceCall& call) {
  require_operator(call.op, site);  // Also where no leaf asks.
  try {
    core.reduce(call);
  } catch (const Error&) {
    std::rethrow_exception(at_site(std::current_exception(), site));
  }
}

void fold_at(CallSite site, StrategyCore& core, ReduceOp op,
             std::span<const std::vector<LeafRef>> parts) {
  require_operator(op, site);
  try {
    core.ops().fold(op, parts);
  } catch (const Error&) {
    std::rethrow_exception(at_site(std::current_exception(), site));
  }
}

void throw_structures_differ(int replica, const std::vector<LeafDescription>& first,
                             const std::vector<LeafDescription>& other, CallSite site,
                             int first_replica) {
  std::size_t index = 0;
  while (index < first.size() && index < other.size() && first[index] == other[index]) ++index;
  const auto text = [index](const std::vector<LeafDescription>& leaves) {
    return index < leaves.size()
               ? leaves[index].type + " at leaf " + std::to_string(index) + leaves[index].path
               : std::to_string(leaves.size()) + " leaves";
  };
  ErrorReport report;
  report.code = ErrorCode::kStructure;
  report.summary = "components of different structure cannot be combined";
  report.site = site;
  report.replicas.push_back({first_replica, site, "has " + text(first)});
  report.replicas.push_back({replica, site, "has " + text(other)});
  report.expected = "the same structure, lengths and shapes in every component";
  throw StructureMismatchError(std::move(report));
}

void throw_other_replicas(int size, int replicas, CallSite site) {
  throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                             "a value of " + std::to_string(size) + " replicas in a strategy of " +
                                 std::to_string(replicas),
                             "give it one component for each replica", site);
}

void require_replicas(const StrategyCore& core, int replicas, CallSite site) {
  if (replicas != core.size()) throw_other_replicas(replicas, core.size(), site);
}

void require_all_replicas(StrategyCore& core, int components, CallSite site) {
  if (components == core.size()) return;
  throw UnsupportedError(ErrorCode::kUnsupported,
                         "tensors of " + std::to_string(components) + " of " +
                             std::to_string(core.size()) + " replicas cannot be reduced",
                         "read the components one by one with local_values", site);
}

}  // namespace belfry::detail
