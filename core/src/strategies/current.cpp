// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/current.h"

#include "belfry/detail/current_context.h"
#include "belfry/detail/merge_point.h"
#include "belfry/strategies.h"
#include "belfry/variable.h"

#include <cstdio>
#include <exception>
#include <memory>
#include <utility>

namespace belfry {
namespace {

// The merges of a replica without other replicas: executed at the call.
class ImmediateMerges final : public detail::MergePoint {
 public:
  explicit ImmediateMerges(CrossReplicaContext& cross) : MergePoint(cross.core()), cross_(cross) {}

  void meet(int replica, detail::MergeRequest& request) override {
    detail::require_no_kernel(request.site);
    if (!is_default() || detail::current_context() != nullptr) require_current(replica, request);
    detail::CurrentContext current = core().cross_context(cross_);
    const detail::CurrentScope scope(current);
    core().statistics().merges += 1;
    detail::MergeRequest* const requests[] = {&request};
    request.type->execute(cross_, requests, detail::Participants(1), 0);
  }
  void touch(int, OperationKind, const detail::VariableInfo&, CallSite site) override {
    detail::require_no_kernel(site);
  }
  bool is_default() const override;
  std::shared_ptr<void> make_variable(int, const detail::VariableRequest&,
                                      detail::FunctionRef<std::shared_ptr<void>()> make) override {
    return make();
  }

 private:
  CrossReplicaContext& cross_;
};

}  // namespace

// The bottom of the current slot: current outside all contexts and scopes.
struct detail::DefaultContext {
  DefaultStrategy strategy;
  ImmediateMerges merges{strategy.cross_replica()};
  ReplicaContext replica{merges, 0};
};

namespace {

detail::DefaultContext& default_context() {
  thread_local detail::DefaultContext context;
  return context;
}

// A context of a different thread is not current here.
bool ImmediateMerges::is_default() const { return this == &default_context().merges; }

// Throws: ContextError (kWrongContext) in the body of a user's kernel.
const detail::CurrentContext* context_outside_kernels() {
  const detail::CurrentContext* const context = detail::current_context();
  if (context == nullptr) detail::require_no_kernel();
  return context;
}

}  // namespace

Strategy& current_strategy() {
  const detail::CurrentContext* context = context_outside_kernels();
  return context == nullptr ? default_context().strategy : context->strategy->owner();
}

bool has_strategy() {
  const detail::CurrentContext* context = context_outside_kernels();
  if (context == nullptr) return false;
  // The type is compared first: a thread need not make its default strategy for the comparison.
  const Strategy* const strategy = &context->strategy->owner();
  return dynamic_cast<const DefaultStrategy*>(strategy) == nullptr ||
         strategy != &default_context().strategy;
}

ReplicaContext* current_replica() {
  const detail::CurrentContext* context = context_outside_kernels();
  return context == nullptr ? &default_context().replica : context->replica;
}

CrossReplicaContext* current_cross_replica() {
  const detail::CurrentContext* context = context_outside_kernels();
  return context == nullptr ? nullptr : context->cross;
}

DeviceSpec current_device() {
  const detail::CurrentContext* context = context_outside_kernels();
  if (context == nullptr) return default_context().replica.device();
  return context->backend->device_spec(context->device);
}

std::optional<DeviceSpec> current_update_device() {
  const detail::CurrentContext* context = context_outside_kernels();
  if (context == nullptr || !context->in_update) return std::nullopt;
  if (context->replica != nullptr) return std::nullopt;  // The run began inside the replica.
  return context->backend->device_spec(context->device);
}

namespace detail {
namespace {

// A variable scope inside a replica leaves the replica current.
CurrentContext context_for_scope(StrategyCore& core, CrossReplicaContext& cross, CallSite site) {
  const CurrentContext* outer = current_context();
  if (outer != nullptr && outer->strategy == &core) return *outer;
  core.require_cross("a variable scope", site);
  CurrentContext context = core.cross_context(cross);
  context.in_scope = true;
  return context;
}

// A destructor cannot throw, and the current context would point at ended scopes.
void require_innermost(const CurrentContext& ending) {
  if (current_context() == &ending) return;
  std::fputs(
      "belfry: a scope ends while one that was opened inside it is open; scopes nest as blocks "
      "do\n",
      stderr);
  std::terminate();
}

}  // namespace
}  // namespace detail

Scope::~Scope() { detail::require_innermost(context_); }

VariableScope::~VariableScope() { detail::require_innermost(context_); }

Scope::Scope(detail::StrategyCore& core, CrossReplicaContext& cross, CallSite site)
    : context_((core.require_cross("scope", site), core.cross_context(cross))), entered_(context_) {
  context_.in_scope = context_.outer == nullptr || context_.outer->in_scope;
}

VariableScope::VariableScope(detail::StrategyCore& core, CrossReplicaContext& cross,
                             detail::VariableRules rules, CallSite site)
    : context_(detail::context_for_scope(core, cross, site)),
      rules_(std::move(rules)),
      entered_(context_) {
  rules_.outer = context_.outer == nullptr ? nullptr : context_.outer->variables;
  context_.variables = &rules_;
}

}  // namespace belfry
