// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "races/clock.h"
#include "races/ranged_accesses.h"

#include <functional>

namespace belfry::sim::races {

/// The accesses to a buffer so far, as far as a later access can be in conflict with them: an
/// access that comes before a write of the same bytes in every schedule is forgotten.
class AccessHistory {
 public:
  /// Called with two accesses in conflict, the earlier first.
  using Report = std::function<void(const BufferAccess&, const BufferAccess&)>;

  /// Adds `access`, with everything before it. Reports every earlier access to the same bytes that
  /// some schedule puts after `access`, unless both only read, or both are of host agents.
  void add(const BufferAccess& access, const Clock& before, const Report& report);
  /// Forgets the accesses before `known`: all later accesses come after them.
  void forget(const Clock& known);

 private:
  RangedAccesses writes_;
  RangedAccesses reads_;  // The last read of a range in a lane.
};

}  // namespace belfry::sim::races
