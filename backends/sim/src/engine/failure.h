// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <memory>

namespace belfry::engine {

/// Why a command could not run. It spreads to whatever is ordered after that command: the rest of
/// its queue, and queues that wait for events recorded there. Each queue it gets to has one of its
/// own, since each may be told of at another time.
struct Failure {
  std::exception_ptr exception;
  int device = -1;  ///< Of the queue that has failed; none of a deadlock.
  /// A host knows, so that events recorded before pass it on no more. Guarded by the engine's lock.
  mutable bool told = false;
};

// Shared by a queue, the event records it has reached and the host waits it has ended.
using FailurePtr = std::shared_ptr<const Failure>;

/// What is left to tell of a record's failure: nothing once a host knows.
inline FailurePtr untold(const FailurePtr& failure) {
  return failure == nullptr || failure->told ? nullptr : failure;
}

}  // namespace belfry::engine
