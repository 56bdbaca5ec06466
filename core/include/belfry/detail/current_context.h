// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/current_slot.h"
#include "belfry/detail/run_failure.h"

namespace belfry {

class Backend;
class CrossReplicaContext;
class ReplicaContext;

namespace detail {

class StrategyCore;
struct VariableRules;

/// The context that is current on a carrier: exactly one of `replica` and `cross`, and the device
/// of new tensors. Lives on the stack of the function that entered the context; the slot points at
/// the innermost context.
struct CurrentContext {
  StrategyCore* strategy = nullptr;
  ReplicaContext* replica = nullptr;
  CrossReplicaContext* cross = nullptr;
  Backend* backend = nullptr;
  int device = 0;                            ///< Index in the backend.
  bool in_update = false;                    ///< In a function called for each `device` (SEM-41).
  bool in_scope = false;                     ///< Entered by the user, outside every run.
  const VariableRules* variables = nullptr;  ///< Of the innermost variable scope.
  RunFailure* failure = nullptr;             ///< Of the run that `replica` belongs to.
  CurrentContext* outer = nullptr;
};

/// The innermost context, or null outside every strategy.
inline CurrentContext* current_context() noexcept {
  return static_cast<CurrentContext*>(current_slot());
}

/// Whether `context` lies in a function that is called for each component, device or element
/// (SEM-41), also by way of a scope, a fetch or a run that was begun there. Such inner contexts do
/// not have the mark themselves: nothing in them is the device of a component.
inline bool is_inside_update(const CurrentContext* context) {
  for (; context != nullptr; context = context->outer) {
    if (context->in_update) return true;
  }
  return false;
}

/// Called before a device gets work, and before the host queries a device or waits for it. Throws:
/// ReplicaCancelled on a replica whose run has failed, unless the replica is being unwound (SEM-7).
inline void require_alive() {
  const CurrentContext* const context = current_context();
  if (context != nullptr && context->failure != nullptr) context->failure->require_none(*context);
}

/// Makes a context current for a block of code.
class CurrentScope {
 public:
  explicit CurrentScope(CurrentContext& context) noexcept : saved_(current_slot()) {
    context.outer = static_cast<CurrentContext*>(saved_);
    if (context.variables == nullptr && context.outer != nullptr) {
      context.variables = context.outer->variables;
    }
    set_current_slot(&context);
  }
  CurrentScope(const CurrentScope&) = delete;
  CurrentScope& operator=(const CurrentScope&) = delete;
  ~CurrentScope() { set_current_slot(saved_); }

 private:
  void* saved_;
};

}  // namespace detail
}  // namespace belfry
