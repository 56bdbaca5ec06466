// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/merge_point.h"

#include "belfry/error.h"
#include "belfry/replica_context.h"

#include <string>
#include <utility>

namespace belfry::detail {

void MergePoint::require_current(int replica, const MergeRequest& request) const {
  const CurrentContext* context = current_context();
  if (context != nullptr && context->replica != nullptr && &context->replica->merges() == this &&
      context->replica->replica_id() == replica) {
    return;
  }
  const std::string kind = name_of(request);
  ErrorReport report;
  report.code = ErrorCode::kMergeNested;
  report.summary = kind + " through a replica context that is not current here";
  report.site = request.site;
  if (context == nullptr) {
    report.hint = "merge in the replica function itself, not on a thread of one's own or after run";
  } else if (context->replica == nullptr) {
    report.hint = "a merge function cannot meet again: start another run instead";
  } else {
    report.replicas.push_back(
        {context->replica->replica_id(), request.site,
         "called " + kind + " through a context of replica " + std::to_string(replica)});
    report.hint = "use the ReplicaContext& that this replica's function was given";
  }
  throw ContextError(std::move(report));
}

}  // namespace belfry::detail
