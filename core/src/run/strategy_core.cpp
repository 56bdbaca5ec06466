// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/strategy_core.h"

#include "belfry/detail/make_variable.h"

#include <string>
#include <utility>

namespace belfry::detail {
namespace {

[[noreturn]] void throw_inside_replica(const char* what, const CurrentContext& context,
                                       CallSite site) {
  ErrorReport report;
  report.code = ErrorCode::kWrongContext;
  report.summary = std::string(what) + " is cross-replica work, and this is inside a replica";
  report.site = site;
  report.replicas.push_back({context.replica->replica_id(), site, std::string("called ") + what});
  report.hint = "do it in the function you pass to merge_call, or outside run";
  throw ContextError(std::move(report));
}

[[noreturn]] void throw_other_strategy(const char* what, CallSite site) {
  throw ContextError(ErrorCode::kOtherStrategy,
                     std::string(what) + " of one strategy inside the context of another",
                     "use the strategy of the innermost run or merge", site);
}

}  // namespace

StrategyCore::StrategyCore(Strategy& owner, Backend& backend, std::vector<int> devices,
                           std::optional<ReductionOrder> order)
    : owner_(owner),
      backend_(backend),
      devices_(std::move(devices)),
      ops_(backend, devices_, order) {}

CurrentContext StrategyCore::cross_context(CrossReplicaContext& cross) {
  CurrentContext context;
  context.strategy = this;
  context.cross = &cross;
  context.backend = &backend_;
  context.device = devices_.front();
  return context;
}

void StrategyCore::require_cross(const char* what, CallSite site) {
  const CurrentContext* context = current_context();
  if (context == nullptr) return;
  if (context->strategy != this) throw_other_strategy(what, site);
  if (context->replica != nullptr) throw_inside_replica(what, *context, site);
}

StrategyCore::RunLock::RunLock(StrategyCore& core, CallSite site) : core_(core) {
  core.require_cross("run", site);
  const CurrentContext* context = current_context();
  // A context of this strategy on this carrier means that its run is the one that called us.
  outermost_ = context == nullptr || context->in_scope;
  if (outermost_ && core.running_.exchange(true)) {
    throw ContextError(ErrorCode::kStrategyBusy, "this strategy is running already",
                       "one run at a time: give every thread a strategy of its own", site);
  }
}

StrategyCore::RunLock::~RunLock() {
  if (outermost_) core_.running_.store(false);
}

StrategyStatistics statistics_of(StrategyCore& core) {
  StrategyStatistics statistics = core.statistics();
  statistics.reduction = core.ops().statistics();
  return statistics;
}

}  // namespace belfry::detail
