// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/current_context.h"
#include "belfry/detail/function_call.h"
#include "belfry/detail/sharded_verbs.h"
#include "belfry/detail/strategy/options.h"
#include "belfry/detail/update_components.h"
#include "belfry/device_spec.h"
#include "belfry/variable.h"

#include <type_traits>
#include <utility>
#include <vector>

namespace belfry {

/// Makes a strategy's cross-replica context current until the end of a block; made by
/// `Strategy::scope`. Scopes of one strategy nest and end in reverse order.
class Scope {
 public:
  /// Throws: ContextError (kWrongContext, kOtherStrategy) inside a replica or another strategy.
  Scope(detail::StrategyCore& core, CrossReplicaContext& cross, CallSite site);
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  /// Ends the program, with a message, if a scope opened inside is still open (SEM-17).
  ~Scope();

 private:
  detail::CurrentContext context_;
  detail::CurrentScope entered_;
};

}  // namespace belfry

namespace belfry::detail {

/// The rules of a scope with this creator.
template <class F>
VariableRules rules_of_creator(F creator) {
  constexpr bool kCreates = std::is_convertible_v<F, VariableCreator>;
  static_assert(kCreates || FunctionCall<F, VariableOptions&>::is_broken(),
                "variable_creator_scope calls creator(options) for each variable: write "
                "[&](VariableOptions& options) {...}");
  VariableRules rules;
  if constexpr (kCreates) rules.creator = std::move(creator);
  return rules;
}

/// Facts about values and variables of a strategy, and makers of variables with a tag as the first
/// argument. Replicas that make a variable compare the tags (SEM-132); elsewhere a tag has no
/// effect.
template <class Self>
class StrategyVerbs : public ShardedVerbs<Self> {
 public:
  /// Strategy::mirrored_variable with a tag.
  template <class Init>
  auto mirrored_variable(const MergeTag& tag, const Init& init, VariableOptions options = {}) {
    return self().mirrored_variable(init, std::move(options), tag);
  }
  /// `read_by`: a ReduceOp, an Aggregation or a reduction of the user's.
  template <class By, class Init>
  auto replica_local_variable(const MergeTag& tag, const By& read_by, const Init& init,
                              VariableOptions options = {}) {
    return self().replica_local_variable(read_by, init, std::move(options), tag);
  }
  /// Strategy::variable with a tag.
  template <class Init>
  auto variable(const MergeTag& tag, const Init& init, VariableOptions options = {}) {
    return self().variable(init, std::move(options), tag);
  }

  /// The options of the constructor or of the last `configure`, without the log.
  const StrategyOptions& options() { return self().cross_replica().core().options(); }

  /// Places the mirrored variables made in the scope on `device` alone: one component, of which
  /// replicas elsewhere see a copy, and one computation for each update (SEM-47, SEM-111).
  /// Replica-local variables are placed as without the scope.
  /// Throws:
  /// - InvalidArgumentError (kDestination): a device unknown to the backend;
  /// - UnsupportedError (kUnsupported): over several processes;
  /// - the errors of VariableScope.
  VariableScope one_device_variable_scope(const DeviceSpec& device,
                                          CallSite site = CallSite::here()) {
    StrategyCore& core = self().cross_replica().core();
    return VariableScope(core, self().cross_replica(), {.places = one_place(core, device, site)},
                         site);
  }

  /// Calls `creator(options)` for every variable made in the scope; creator may change the options.
  template <class F = VariableCreator>
  VariableScope variable_creator_scope(F creator, CallSite site = CallSite::here()) {
    return VariableScope(self().cross_replica().core(), self().cross_replica(),
                         rules_of_creator(std::move(creator)), site);
  }

  /// The devices on which to update the state of an optimiser for these variables: the devices of
  /// mirrored variables.
  /// Throws: ContextError (kOtherStrategy) for a variable of another strategy; InvalidArgumentError
  /// (kVariableEmpty).
  template <class... T>
  std::vector<DeviceSpec> non_slot_devices(const VariableHandle<T>&... variables) {
    (require_owner(self().cross_replica().core(), variables.state({}).info, {}), ...);
    return self().parameter_devices();
  }
  template <class V>
  std::vector<DeviceSpec> non_slot_devices(const std::vector<V>& variables) {
    for (const V& variable : variables) {
      require_owner(self().cross_replica().core(), variable.state({}).info, {});
    }
    return self().parameter_devices();
  }

  /// Copies the components of a distributed value or a variable, in order; of any other value, the
  /// value alone.
  /// Order: enqueues nothing; copies of tensors share storage until written.
  template <class V>
  auto local_results(const V& value, CallSite site = CallSite::here()) {
    return self().cross_replica().local_results(value, site);
  }

 private:
  Self& self() { return static_cast<Self&>(*this); }
};

}  // namespace belfry::detail
