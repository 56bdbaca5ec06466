// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/update_components.h"

#include "belfry/any_tensor.h"
#include "belfry/replica_context.h"

#include <cstring>
#include <string>
#include <utility>

namespace belfry::detail {
namespace {

std::vector<std::byte> bytes_of(const LeafRef& leaf) {
  std::vector<std::byte> bytes(leaf.bytes());
  if (bytes.empty()) return bytes;
  if (leaf.tensor != nullptr) {
    leaf.tensor->read(bytes.data());
  } else {
    std::memcpy(bytes.data(), leaf.data, bytes.size());
  }
  return bytes;
}

[[noreturn]] void throw_diverged(const VariableInfo& info, int replica, std::size_t leaf,
                                 CallSite site) {
  ErrorReport report;
  report.code = ErrorCode::kMirroredDiverged;
  report.summary =
      "the components of mirrored " + info.name + " differ in leaf " + std::to_string(leaf);
  report.site = site;
  report.replicas.push_back({0, info.created, "has the reference component"});
  report.replicas.push_back({replica, info.created, "has other bits"});
  report.expected = "an update that does the same on every device";
  report.hint = "use a replica-local variable for state that differs between replicas";
  throw VariableMismatchError(std::move(report));
}

}  // namespace

void throw_uncopyable() {
  throw UnsupportedError(ErrorCode::kUnsupported,
                         "what the function of an update returns cannot be copied",
                         "this strategy copies results from one component to the others");
}

void require_owner(const StrategyCore& core, const VariableInfo& info, CallSite site) {
  if (info.owner == &core) return;
  throw ContextError(ErrorCode::kOtherStrategy, info.name + " belongs to another strategy",
                     "it was made at " + to_string(info.created), site);
}

void require_aggregation(const ReplicaContext& replica, const VariableInfo& info, CallSite site) {
  require_owner(replica.merges().core(), info, site);
  if (info.aggregation != Aggregation::kNone) return;
  ErrorReport report;
  report.code = ErrorCode::kNoAggregation;
  report.summary = "mirrored " + info.name + " was assigned in a replica, and has no aggregation";
  report.site = site;
  report.replicas.push_back({replica.replica_id(), site, "assigned it"});
  report.hint = "make it (" + to_string(info.created) +
                ") with {.aggregation = Aggregation::kSum, kMean or kOnlyFirst}, or update it in "
                "cross-replica context";
  throw InvalidArgumentError(std::move(report));
}

void require_equal_leaves(const std::vector<std::vector<LeafRef>>& components, bool with_tensors,
                          const VariableInfo& info, CallSite site) {
  const std::vector<LeafRef>& first = components.front();
  for (std::size_t replica = 1; replica < components.size(); ++replica) {
    if (components[replica].size() != first.size()) {
      throw_diverged(info, static_cast<int>(replica), 0, site);
    }
  }
  for (std::size_t leaf = 0; leaf < first.size(); ++leaf) {
    if (first[leaf].tensor != nullptr && !with_tensors) continue;
    const std::vector<std::byte> reference = bytes_of(first[leaf]);
    for (std::size_t replica = 1; replica < components.size(); ++replica) {
      if (bytes_of(components[replica][leaf]) != reference) {
        throw_diverged(info, static_cast<int>(replica), leaf, site);
      }
    }
  }
}

}  // namespace belfry::detail
