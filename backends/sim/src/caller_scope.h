// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/current_slot.h"
#include "engine/engine.h"
#include "watch/host_watch.h"

#include <optional>

namespace belfry::sim {

/// The call site of a function without a parameter for call sites, until the end of the scope:
/// streams, events and communicators have such functions. In a program with watched code the line
/// tables have the line of the call, and the call's errors and work get the line, unless a verb
/// around the call has set a site.
class CallerScope {
 public:
  /// `return_address` is the function's.
  CallerScope(engine::Engine& engine, const void* return_address) {
    engine.called_from(return_address);
    if (!watch::linked() || !detail::submitting_site().empty() || !has_place()) return;
    scope_.emplace(watch::source_site(static_cast<const char*>(return_address) - 1));
  }
  CallerScope(const CallerScope&) = delete;
  CallerScope& operator=(const CallerScope&) = delete;

 private:
  // Replicas without a context, of an executor alone, have a common place for a site.
  static bool has_place() {
    return detail::current_slot() != nullptr || detail::current_replica_id() < 0;
  }

  std::optional<detail::SiteScope> scope_;
};

}  // namespace belfry::sim
