// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/detail/run_view.h"

#include "belfry/detail/current_context.h"
#include "belfry/detail/merge_point.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/replica_context.h"

#include <algorithm>

namespace belfry::detail {

void show_merge_values(bool results, ValueVisitor& visitor) {
  const CurrentContext* const context = current_context();
  if (context == nullptr || context->replica == nullptr) return;
  const int replica = context->replica->replica_id();
  const MergeRequest* const request = context->replica->merges().request_of(replica);
  if (request == nullptr) return;
  visitor.verb(name_of(*request));
  if (request->type->show != nullptr) request->type->show(*request, results, visitor);
}

AgentId agent_here() {
  const CurrentContext* const context = current_context();
  if (context == nullptr || context->in_scope) return {AgentId::Kind::kHost, 0};
  if (context->replica == nullptr) return {AgentId::Kind::kMerge, 0};
  const int first = context->strategy->first_replica();
  return {AgentId::Kind::kReplica, context->replica->replica_id() - first};
}

const void* strategy_here() {
  const CurrentContext* const context = current_context();
  return context == nullptr ? nullptr : context->strategy;
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
  if (context->strategy->own().count() == 0) return -1;
  const std::vector<int>& devices = context->strategy->devices();
  const auto found = std::ranges::find(devices, device);
  if (found == devices.end() || std::ranges::count(devices, device) > 1) return -1;
  return static_cast<int>(found - devices.begin());
}

}  // namespace belfry::detail
