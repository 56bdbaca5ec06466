// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/operation.h"
#include "belfry/call_site.h"
#include "belfry/detail/function_ref.h"
#include "belfry/detail/host_values.h"
#include "belfry/detail/merge_request.h"
#include "belfry/detail/replica_variables.h"
#include "belfry/detail/strategy_core.h"

#include <cstdint>
#include <memory>

namespace belfry::detail {

struct VariableInfo;

/// The meeting point of the replicas of a run. A run has a runner; the default replica has no other
/// replicas to wait for and merges at once.
class MergePoint {
 public:
  explicit MergePoint(StrategyCore& core)
      : core_(core), notes_(core.backend().run_settings().records_host_values) {}
  MergePoint(const MergePoint&) = delete;
  MergePoint& operator=(const MergePoint&) = delete;

  StrategyCore& core() { return core_; }
  /// On a replica: returns when the merge that `request` asks for has been executed.
  /// Throws: ReplicaCancelled when the run has failed; MergeMismatchError (kMergeUnnamed).
  virtual void meet(int replica, MergeRequest& request) = 0;
  /// On a replica: announces an access to a variable. Throws: ReplicaCancelled, as above.
  virtual void touch(int replica, OperationKind kind, const VariableInfo& variable,
                     CallSite site) = 0;
  /// On a replica: the state of the variable that all replicas ask for here, made by `make` on
  /// replica 0 (SEM-48). Throws: VariableMismatchError, exceptions of `make`, and as `meet`.
  virtual std::shared_ptr<void> make_variable(int replica, const VariableRequest& request,
                                              FunctionRef<std::shared_ptr<void>()> make) = 0;

  /// Whether the log records the host values of replicas (SEM-77).
  bool notes() const { return notes_; }
  /// On a replica: tells the log the replica's present host values, if the log records them.
  template <class... T>
  void note([[maybe_unused]] int replica, const T&... values) {
    // Most merges have no values, and skip the test as well.
    if constexpr (sizeof...(values) > 0) {
      if (notes_) [[unlikely]] {
        note_host_values(core_, {AgentId::Kind::kReplica, replica - core_.first_replica()},
                         values...);
      }
    }
  }

  /// Whether its replica is current where this thread has entered no context.
  virtual bool is_default() const { return false; }

 protected:
  ~MergePoint() = default;
  /// Throws: ContextError (kMergeNested) unless `replica` of this merge point is current.
  void require_current(int replica, const MergeRequest& request) const;

 private:
  StrategyCore& core_;
  bool notes_;
};

}  // namespace belfry::detail
