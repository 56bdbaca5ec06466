// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/merge_point.h"

#include "belfry/error.h"
#include "belfry/replica_context.h"

#include <string>

namespace belfry::detail {

void MergePoint::require_current(int replica, const MergeRequest& request) const {
  const CurrentContext* context = current_context();
  if (context != nullptr && context->replica != nullptr && &context->replica->merges() == this &&
      context->replica->replica_id() == replica) {
    return;
  }
  throw ContextError(ErrorCode::kMergeNested,
                     std::string(to_string(request.type->kind)) +
                         " through a replica context that is not current here",
                     "a merge function cannot meet again: start another run instead", request.site);
}

}  // namespace belfry::detail
