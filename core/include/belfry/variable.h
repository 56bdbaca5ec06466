// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "belfry/detail/assign.h"
#include "belfry/detail/component.h"
#include "belfry/detail/variable_state.h"

namespace belfry {

/// A variable with one component a replica, all equal at all times. A handle: copies are the same
/// variable. Read it anywhere; change it through `CrossReplicaContext::update`, or in a replica
/// through `assign`, which merges (SEM-40 to SEM-46).
template <class T>
class MirroredVariable {
 public:
  using value_type = T;

  /// Names no variable; using it is an InvalidArgumentError (kVariableEmpty).
  MirroredVariable() = default;
  explicit MirroredVariable(std::shared_ptr<detail::VariableState<T>> state)
      : state_(std::move(state)) {}

  /// The component of the replica that asks.
  /// Throws: ContextError (kOtherStrategy, kWrongContext).
  const T& on(const ReplicaContext& replica, CallSite site = CallSite::here()) const {
    detail::touch_variable(replica, state(site).info, false, site);
    return state_->components[detail::component_of(replica)].value;
  }
  const std::string& name() const { return state({}).info.name; }
  Aggregation aggregation() const { return state({}).info.aggregation; }
  bool trainable() const { return state({}).info.trainable; }

  /// Whether both handles name one variable.
  friend bool operator==(const MirroredVariable& a, const MirroredVariable& b) {
    return a.state_ == b.state_;
  }

  /// For belfry itself.
  detail::VariableState<T>& state(CallSite site) const {
    if (state_ == nullptr) detail::throw_empty_variable(site);
    return *state_;
  }

 private:
  // Shared by the handles.
  std::shared_ptr<detail::VariableState<T>> state_;
};

/// A variable with one independent component a replica, combined by its ReduceOp when it is read in
/// cross-replica context (SEM-50 to SEM-53). The reference documents call it tower-local.
template <class T>
class ReplicaLocalVariable {
 public:
  using value_type = T;

  ReplicaLocalVariable() = default;
  ReplicaLocalVariable(std::shared_ptr<detail::VariableState<T>> state, ReduceOp op)
      : state_(std::move(state)), op_(op) {}

  /// The component of the replica that asks, to read and write; no other replica sees it.
  T& on(const ReplicaContext& replica, CallSite site = CallSite::here()) const {
    detail::touch_variable(replica, state(site).info, true, site);
    return state_->components[detail::component_of(replica)].value;
  }
  const std::string& name() const { return state({}).info.name; }
  ReduceOp reduce_op() const { return op_; }
  bool trainable() const { return false; }

  friend bool operator==(const ReplicaLocalVariable& a, const ReplicaLocalVariable& b) {
    return a.state_ == b.state_;
  }

  /// For belfry itself.
  detail::VariableState<T>& state(CallSite site) const {
    if (state_ == nullptr) detail::throw_empty_variable(site);
    return *state_;
  }

 private:
  // Shared by the handles.
  std::shared_ptr<detail::VariableState<T>> state_;
  ReduceOp op_ = ReduceOp::kSum;
};

namespace detail {
template <class T>
struct IsVariable<MirroredVariable<T>> : std::true_type {};
template <class T>
struct IsVariable<ReplicaLocalVariable<T>> : std::true_type {};
template <class T>
struct IsMirroredVariable : std::false_type {};
template <class T>
struct IsMirroredVariable<MirroredVariable<T>> : std::true_type {};
}  // namespace detail

}  // namespace belfry
