// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/component.h"
#include "belfry/detail/current_context.h"
#include "belfry/detail/function_call.h"
#include "belfry/detail/host_values.h"
#include "belfry/detail/integer_sums.h"
#include "belfry/detail/prints.h"
#include "belfry/detail/variable/aggregation.h"
#include "belfry/detail/variable_state.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry {

/// The common base of the handles of variables: name, kind and devices. A handle is cheap to copy,
/// and copies name the same variable. A default-constructed handle names no variable; every use is
/// an InvalidArgumentError (kVariableEmpty).
template <class T>
class VariableHandle {
 public:
  using value_type = T;  ///< The type of a component.

  /// The name in messages and files.
  const std::string& name(CallSite site = CallSite::here()) const { return state(site).info.name; }
  /// How assignments in replicas, or components at a read, are combined.
  Aggregation aggregation(CallSite site = CallSite::here()) const {
    return state(site).info.aggregation;
  }
  /// When components are combined: kOnWrite for mirrored, kOnRead for replica-local variables.
  Synchronization synchronization(CallSite site = CallSite::here()) const {
    return state(site).info.synchronization;
  }
  /// Whether an optimiser should change the variable.
  bool trainable(CallSite site = CallSite::here()) const { return state(site).info.trainable; }
  /// The device of each component, in the order of the components.
  std::vector<DeviceSpec> devices(CallSite site = CallSite::here()) const {
    return detail::devices_of(state(site).info);
  }

  /// Whether both handles name the same variable.
  friend bool operator==(const VariableHandle& a, const VariableHandle& b) {
    return a.state_ == b.state_;
  }

  /// For belfry itself.
  detail::VariableState<T>& state(CallSite site) const {
    if (state_ == nullptr) detail::throw_empty_variable(site);
    return *state_;
  }
  /// For belfry itself.
  const std::shared_ptr<detail::VariableState<T>>& shared_state() const { return state_; }

 protected:
  VariableHandle() = default;
  /// For belfry itself.
  explicit VariableHandle(std::shared_ptr<detail::VariableState<T>> state)
      : state_(std::move(state)) {}
  ~VariableHandle() = default;
  VariableHandle(const VariableHandle&) = default;
  VariableHandle(VariableHandle&&) noexcept = default;
  VariableHandle& operator=(const VariableHandle&) = default;
  VariableHandle& operator=(VariableHandle&&) noexcept = default;

  /// For belfry itself: the component of `replica`.
  T& component_on(const ReplicaContext& replica, bool write, CallSite site) const {
    const bool noted = detail::touch_variable(replica, state(site).info, write, site);
    const int id = detail::replica_id_of(replica);
    const int component = detail::component_of(state_->info, id, site);
    T& seen =
        state_->views.size() > 0 ? state_->views[id].value : state_->components[component].value;
    if (noted) detail::note_host_values(*state_->info.owner, {AgentId::Kind::kReplica, id}, seen);
    return seen;
  }

 private:
  // Shared by the handles.
  std::shared_ptr<detail::VariableState<T>> state_;
};

/// A variable with an equal component on every replica's device, for weights.
///
///     auto weight = strategy.mirrored_variable(1.0, {.aggregation = Aggregation::kMean});
///     strategy.run([&](ReplicaContext& replica) {
///       const double w = weight.on(replica);  // Read: no wait for other replicas.
///       replica.assign_sub(weight, 0.1 * w);  // Change: every component, by the mean.
///     });
///
/// Components change together: in a replica by an assignment, outside by
/// `CrossReplicaContext::update` (SEM-40 to SEM-46). A strategy may place the components on other
/// devices (SEM-110).
template <class T>
class MirroredVariable : public VariableHandle<T> {
 public:
  MirroredVariable() = default;
  /// For belfry itself.
  explicit MirroredVariable(std::shared_ptr<detail::VariableState<T>> state)
      : VariableHandle<T>(std::move(state)) {}

  /// The component for `replica`, on the replica's device (SEM-43, SEM-111).
  /// Order: a step of the schedule, so other replicas may run first; enqueues nothing.
  /// Throws:
  /// - ContextError (kOtherStrategy): a replica of another strategy;
  /// - ContextError (kWrongContext): `replica` is not current;
  /// - InvalidArgumentError (kDestination): the variable has no component for the replica (SEM-47).
  const T& on(const ReplicaContext& replica, CallSite site = CallSite::here()) const {
    return this->component_on(replica, false, site);
  }
};

/// A variable with an independent component on each replica, for metrics and statistics.
///
///     auto examples = strategy.replica_local_variable(ReduceOp::kSum, 0);
///     strategy.run([&](ReplicaContext& replica) { examples.on(replica) += 32; });
///     std::cout << strategy.read(examples);    // 64 on two replicas.
///
/// A read outside replicas combines the components by the variable's aggregation (SEM-50 to
/// SEM-53).
template <class T>
class ReplicaLocalVariable : public VariableHandle<T> {
 public:
  ReplicaLocalVariable() = default;
  /// For belfry itself.
  explicit ReplicaLocalVariable(std::shared_ptr<detail::VariableState<T>> state)
      : VariableHandle<T>(std::move(state)) {}

  /// The component of `replica`, for reading and writing; no other replica reads the component
  /// (SEM-52).
  /// Order, Throws: as MirroredVariable::on.
  T& on(const ReplicaContext& replica, CallSite site = CallSite::here()) const {
    return this->component_on(replica, true, site);
  }
};

/// A variable of either kind, for code that leaves the kind to the enclosing scopes.
template <class T>
class Variable : public VariableHandle<T> {
 public:
  Variable() = default;
  /// A handle of the same variable.
  Variable(const MirroredVariable<T>& variable)  // NOLINT: implicit on purpose.
      : VariableHandle<T>(variable.shared_state()) {}
  Variable(const ReplicaLocalVariable<T>& variable)  // NOLINT: implicit on purpose.
      : VariableHandle<T>(variable.shared_state()) {}
  /// For belfry itself.
  explicit Variable(std::shared_ptr<detail::VariableState<T>> state)
      : VariableHandle<T>(std::move(state)) {}

  /// The component for `replica`, for reading. For writing, use assign, or take the handle of the
  /// kind first.
  /// Order, Throws: as MirroredVariable::on.
  const T& on(const ReplicaContext& replica, CallSite site = CallSite::here()) const {
    return this->component_on(replica, false, site);
  }
  /// The same variable as a handle of its kind (SEM-47).
  /// Throws: VariableMismatchError (kVariableMismatch) if the variable has the other kind.
  MirroredVariable<T> as_mirrored(CallSite site = CallSite::here()) const {
    detail::require_kind(this->state(site).info, Synchronization::kOnWrite, site);
    return MirroredVariable<T>(this->shared_state());
  }
  /// As as_mirrored, for the other kind.
  ReplicaLocalVariable<T> as_replica_local(CallSite site = CallSite::here()) const {
    detail::require_kind(this->state(site).info, Synchronization::kOnRead, site);
    return ReplicaLocalVariable<T>(this->shared_state());
  }
  /// Calls `fn` with the handle of the variable's kind, MirroredVariable or ReplicaLocalVariable.
  /// Throws: exceptions of `fn`; InvalidArgumentError (kVariableEmpty).
  template <class F>
  void visit(const F& fn, CallSite site = CallSite::here()) const {
    using MirroredCall = detail::FunctionCall<const F, MirroredVariable<T>>;
    using ReplicaLocalCall = detail::FunctionCall<const F, ReplicaLocalVariable<T>>;
    constexpr bool kCallable = MirroredCall::fits() && ReplicaLocalCall::fits();
    constexpr bool kTakesHandles = !MirroredCall::refuses() && !ReplicaLocalCall::refuses();
    static_assert(kTakesHandles,
                  "visit calls fn with a handle of either kind: write [&](auto handle)");
    if constexpr (kCallable) {
      if (this->state(site).info.synchronization == Synchronization::kOnRead) {
        fn(as_replica_local(site));
      } else {
        fn(as_mirrored(site));
      }
    }
  }
};

namespace detail {
/// The text of a variable; `info` is null for an empty handle.
std::string variable_text(const VariableInfo* info);
}  // namespace detail

/// `mirrored variable "w" on` and the devices of the components, or `no variable`. No values: a
/// variable is read by a verb.
template <class T>
std::string to_string(const VariableHandle<T>& variable) {
  const auto& state = variable.shared_state();
  return detail::variable_text(state == nullptr ? nullptr : &state->info);
}

namespace detail {
template <class T>
inline constexpr bool kPrints<MirroredVariable<T>> = true;
template <class T>
inline constexpr bool kPrints<ReplicaLocalVariable<T>> = true;
template <class T>
inline constexpr bool kPrints<Variable<T>> = true;

template <class T>
struct IsVariable<MirroredVariable<T>> : std::true_type {};
template <class T>
struct IsVariable<ReplicaLocalVariable<T>> : std::true_type {};
template <class T>
struct IsVariable<Variable<T>> : std::true_type {};
}  // namespace detail

/// Receives the options of each variable made in the scope, and may change the options. An
/// exception of a creator leaves the call that makes the variable.
using VariableCreator = std::function<void(VariableOptions&)>;

namespace detail {

/// The decisions of a single scope about the variables made inside.
struct VariableRules {
  std::optional<Aggregation> replica_local{};
  std::optional<VariablePlaces> places{};
  VariableCreator creator{};
  const VariableRules* outer = nullptr;
};

}  // namespace detail

/// Decides the kind, the devices and the options of the variables that are made until the end of a
/// block. Made by functions of Strategy, such as `colocate_variables_with`:
///
///     const VariableScope scope = strategy.replica_local_variable_scope(ReduceOp::kSum);
///
/// In a replica the scope holds for this replica alone. Inner scopes win over outer scopes;
/// creators are called from the innermost scope to the outermost (SEM-47).
/// Throws: the errors of the constructor; replica_local_variable_scope also InvalidArgumentError
/// (kInvalidArgument) for a number that is no ReduceOp.
class VariableScope {
 public:
  /// Throws: ContextError (kOtherStrategy) inside another strategy.
  VariableScope(detail::StrategyCore& core, CrossReplicaContext& cross, detail::VariableRules rules,
                CallSite site);
  VariableScope(const VariableScope&) = delete;
  VariableScope& operator=(const VariableScope&) = delete;
  /// Ends the program, with a message, if a scope opened inside is still open (SEM-17).
  ~VariableScope();

 private:
  detail::CurrentContext context_;
  detail::VariableRules rules_;
  detail::CurrentScope entered_;
};

}  // namespace belfry
