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

/// Sees the options of each variable made in its scope, and may change them. What it throws comes
/// out where the variable is made.
using VariableCreator = std::function<void(VariableOptions&)>;

namespace detail {

/// What one scope decides about the variables made inside it.
struct VariableRules {
  std::optional<Aggregation> replica_local{};
  std::optional<VariablePlaces> places{};
  VariableCreator creator{};
  const VariableRules* outer = nullptr;
};

}  // namespace detail

/// Decides, until the end of a block, what variables become that are made inside it; made by
/// `Strategy::replica_local_variable_scope`, `colocate_variables_with` and
/// `variable_creator_scope`, which throw what its constructor throws (and the first of them
/// InvalidArgumentError (kInvalidArgument) for no ReduceOp). Inside a replica it holds for that
/// replica alone. Inner scopes win; creators are asked from the innermost out (SEM-47).
class VariableScope {
 public:
  /// Throws: ContextError (kOtherStrategy) inside another strategy.
  VariableScope(detail::StrategyCore& core, CrossReplicaContext& cross, detail::VariableRules rules,
                CallSite site);
  VariableScope(const VariableScope&) = delete;
  VariableScope& operator=(const VariableScope&) = delete;
  /// Ends the program, with a message, when something opened inside is still open (SEM-17).
  ~VariableScope();

 private:
  detail::CurrentContext context_;
  detail::VariableRules rules_;
  detail::CurrentScope entered_;
};

}  // namespace belfry
