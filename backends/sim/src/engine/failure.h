// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <memory>

namespace belfry::engine {

/// Why a command could not run. It spreads to whatever is ordered after that command: the rest of
/// its queue, and queues that wait for events recorded there.
struct Failure {
  std::exception_ptr exception;
};

// Shared by the queues, event records and host waits it has reached.
using FailurePtr = std::shared_ptr<const Failure>;

}  // namespace belfry::engine
