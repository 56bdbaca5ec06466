// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <memory>

namespace belfry::engine {

/// The reason why a command could not run. A failure spreads to all work ordered after the command:
/// the rest of its queue, and queues that wait for events recorded there. Each reached queue has
/// its own failure, for hosts may learn of each at a different time.
struct Failure {
  std::exception_ptr exception;
  int device = -1;  ///< Of the queue that has failed; none of a deadlock.
  /// A host knows: events recorded before no longer pass the failure on. Guarded by the engine's
  /// lock.
  mutable bool told = false;
};

// Shared by a queue, the event records and the host waits that the failure has reached.
using FailurePtr = std::shared_ptr<const Failure>;

/// The failure of a record until a host knows the failure, then nothing.
inline FailurePtr untold(const FailurePtr& failure) {
  return failure == nullptr || failure->told ? nullptr : failure;
}

}  // namespace belfry::engine
