// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/current_slot.h"

#include <atomic>

namespace belfry {

class Backend;
class CrossReplicaContext;
class ReplicaContext;

namespace detail {

class Participants;
class StrategyCore;
struct VariableRules;

struct CurrentContext;

/// Whether a run has failed: its replicas then get no more work done on devices. The flag is set
/// while no replica of the run can go on, and read on their threads.
class RunFailure {
 public:
  RunFailure() = default;
  RunFailure(const RunFailure&) = delete;
  RunFailure& operator=(const RunFailure&) = delete;

  /// On the replica that `context` is of. Throws: ReplicaCancelled when the run has failed, unless
  /// the replica is being unwound (SEM-7).
  void require_none(const CurrentContext& context) {
    if (has_failed()) [[unlikely]] {
      refuse_work(context);
    }
  }

 protected:
  ~RunFailure() = default;
  bool has_failed() const { return failed_.load(std::memory_order_acquire); }
  void set_failed() { failed_.store(true, std::memory_order_release); }

 private:
  virtual void refuse_work(const CurrentContext& context) = 0;

  std::atomic<bool> failed_{false};
};

/// The context that is current on a carrier: exactly one of `replica` and `cross`, and the device
/// of new tensors. Lives on the stack of the function that entered the context; the slot points at
/// the innermost context.
struct CurrentContext : SlotContext {
  StrategyCore* strategy = nullptr;
  ReplicaContext* replica = nullptr;
  CrossReplicaContext* cross = nullptr;
  Backend* backend = nullptr;
  int device = 0;                            ///< Index in the backend.
  bool in_update = false;                    ///< In a function called for each `device` (SEM-41).
  bool in_scope = false;                     ///< Entered by the user, outside every run.
  const VariableRules* variables = nullptr;  ///< Of the innermost variable scope.
  RunFailure* failure = nullptr;             ///< Of the run that `replica` belongs to.
  const Participants* group = nullptr;       ///< Of the merge of a group, whose members these are.
  CurrentContext* outer = nullptr;
};

/// The innermost context, or null outside every strategy.
inline CurrentContext* current_context() noexcept {
  return static_cast<CurrentContext*>(current_slot());
}

/// Whether `context` lies in a function that is called for each component, device or element
/// (SEM-41), also inside a scope, a fetch or a run that was begun there. Inner contexts do not have
/// the mark themselves: nothing in them is the device of a component.
inline bool is_inside_update(const CurrentContext* context) {
  for (; context != nullptr; context = context->outer) {
    if (context->in_update) return true;
  }
  return false;
}

/// Called before a device gets work, and before the host queries a device or waits for it. Throws:
/// ReplicaCancelled on a replica whose run has failed, unless the replica is being unwound (SEM-7);
/// ContextError (kWrongContext) in the body of a user's kernel (SEM-172).
inline void require_alive() {
  const CurrentContext* const context = current_context();
  if (context == nullptr) return require_no_kernel();
  if (context->failure != nullptr) context->failure->require_none(*context);
}

/// Makes a context current for a block of code.
class CurrentScope {
 public:
  explicit CurrentScope(CurrentContext& context) noexcept : saved_(current_context()) {
    context.outer = saved_;
    if (context.variables == nullptr && context.outer != nullptr) {
      context.variables = context.outer->variables;
    }
    set_current_slot(&context);
  }
  CurrentScope(const CurrentScope&) = delete;
  CurrentScope& operator=(const CurrentScope&) = delete;
  ~CurrentScope() { set_current_slot(saved_); }

 private:
  CurrentContext* saved_;
};

}  // namespace detail
}  // namespace belfry
