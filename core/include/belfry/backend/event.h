// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace belfry {

/// A point in a stream. `Stream::record` sets it anew; a wait captures the latest record made
/// before the wait was issued. Waiting for an event that was never recorded waits for nothing, as
/// in CUDA.
class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  virtual ~Event() = default;

  /// Order: blocks the host until the latest record has been reached. A suspended replica lets
  /// others run. Throws: DeviceError for what failed before it (SEM-74), or (kDeadlock) when
  /// nothing can go on (SEM-75).
  virtual void synchronize() = 0;
  /// Whether the latest record has been reached. What it says depends on the schedule.
  /// Order: does not block.
  virtual bool query() = 0;
};

}  // namespace belfry
