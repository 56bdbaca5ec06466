// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/compiler.h"

namespace belfry {

/// A point in a stream. `Stream::record` sets the point anew; a wait refers to the latest record
/// made before the wait was issued. A wait for an event without a record has no effect, as in CUDA.
class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  virtual ~Event() = default;

  /// Order: blocks the host until the latest record is reached; a suspended replica lets others
  /// run.
  /// Throws: DeviceError if work before the record failed (SEM-74), or (kDeadlock) if no agent can
  /// continue (SEM-75).
  virtual void synchronize() = 0;
  /// Whether the latest record is reached. The answer depends on the schedule.
  /// Order: does not block.
  virtual bool query() = 0;
};

}  // namespace belfry
