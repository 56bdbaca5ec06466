// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/aggregation.h"
#include "belfry/call_site.h"
#include "belfry/detail/current_context.h"
#include "belfry/variable_places.h"

#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace belfry {

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

/// Decides, until the end of a block, the kind, the devices and the options of the variables made
/// inside. In a replica the scope holds for this replica alone. Inner scopes win over outer scopes;
/// creators are called from the innermost scope to the outermost (SEM-47).
/// Made by `Strategy::replica_local_variable_scope`, `colocate_variables_with` and
/// `variable_creator_scope`. All three throw the constructor's errors, and the first also throws
/// InvalidArgumentError (kInvalidArgument) for a number that is no ReduceOp.
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
