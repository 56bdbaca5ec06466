// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "run/rounds/unnamed_merges.h"

#include "belfry/error.h"

#include <string>
#include <utility>

namespace belfry::detail {
namespace {

constexpr const char* kHint =
    "add MergeTag{name} as first argument, with a name that tells the values apart: ";

[[noreturn]] void throw_unnamed(int replica, CallSite site, const std::string& what,
                                ReplicaReport again, std::string hint) {
  ErrorReport report;
  report.code = ErrorCode::kMergeUnnamed;
  report.summary =
      "replica " + std::to_string(replica) + " reached " + what + " again, and it has no name";
  report.site = site;
  report.replicas.push_back(std::move(again));
  report.expected = "a MergeTag where a replica merges more than once in a run (require_names)";
  report.hint = std::move(hint);
  throw MergeMismatchError(std::move(report));
}

// The call with the argument to add. A request that describes itself begins with the name of its
// function, a free function except for assignments.
std::string call_with_tag(const MergeRequest& request) {
  const MergeType& type = *request.type;
  if (type.describe == nullptr) {
    return std::string("replica.") + to_string(type.kind) + "(MergeTag{name}, ...)";
  }
  const std::string described = type.describe(request);
  const std::string verb = described.substr(0, described.find(' '));
  if (type.kind == MergeKind::kAssign) return "replica." + verb + "(MergeTag{name}, ...)";
  return verb + "(replica, MergeTag{name}, ...)";
}

}  // namespace

void UnnamedMerges::reach(int replica, const MergeRequest& request, std::uint32_t merge) {
  if (request.tag != nullptr) return;
  const char* const kind = to_string(request.type->kind);
  if (is_first(replica, request.site, kind)) return;
  throw_unnamed(replica, request.site, kind,
                {replica,
                 request.site,
                 std::string("reached ") + kind + " again, as merge #" + std::to_string(merge),
                 {}},
                kHint + call_with_tag(request));
}

void UnnamedMerges::reach(int replica, const VariableRequest& request) {
  if (request.tag || !request.name.empty()) return;
  if (is_first(replica, request.site, "variable")) return;
  const bool on_read = request.synchronization == Synchronization::kOnRead;
  throw_unnamed(replica, request.site, "the making of a variable",
                {replica, request.site, "made a variable there again", {}},
                std::string(kHint) + "strategy." +
                    (on_read ? "replica_local_variable" : "mirrored_variable") +
                    "(MergeTag{name}, ...), or name the variable in its options: {.name = name}");
}

}  // namespace belfry::detail
