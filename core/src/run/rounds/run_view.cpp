// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/detail/run_view.h"

#include "belfry/detail/current_context.h"
#include "belfry/detail/merge_point.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/replica_context.h"

namespace belfry::detail {

void show_merge_values(bool results, ValueVisitor& visitor) {
  const CurrentContext* const context = current_context();
  if (context == nullptr || context->replica == nullptr) return;
  const int replica = context->replica->replica_id();
  const MergeRequest* const request = context->replica->merges().request_of(replica);
  if (request == nullptr || request->type->show == nullptr) return;
  request->type->show(*request, results, visitor);
}

const ErrorReport* failure_of_run() {
  const CurrentContext* const context = current_context();
  if (context == nullptr || context->strategy == nullptr) return nullptr;
  const std::optional<ErrorReport>& last = context->strategy->last_failure();
  return last ? &*last : nullptr;
}

int replica_on_device(int device) {
  const CurrentContext* const context = current_context();
  if (context == nullptr || context->strategy == nullptr) return -1;
  int found = -1;
  for (int replica = 0; replica < context->strategy->size(); ++replica) {
    if (context->strategy->device_of(replica) != device) continue;
    if (found >= 0) return -1;
    found = replica;
  }
  return found;
}

}  // namespace belfry::detail
