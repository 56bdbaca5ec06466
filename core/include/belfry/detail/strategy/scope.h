// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/current_context.h"

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
