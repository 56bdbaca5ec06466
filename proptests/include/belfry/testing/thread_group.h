// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/process_group.h"

#include <functional>

namespace belfry::testing {

/// Calls `body(group)` once for each of `processes` processes, each on a thread of its own, and
/// returns when all have ended. The groups are one: a call of a group waits for the other threads.
/// A thread whose body ends leaves the group; calls that would wait for the thread throw
/// ProcessLostError, which names the rank and, if the body threw, the text of the exception.
/// Throws: the cause before its consequences: the exception of the lowest process that is neither
/// ProcessLostError nor PeerFailedError; if there is none, the exception of the lowest process.
void run_processes(int processes, const std::function<void(ProcessGroup&)>& body);

}  // namespace belfry::testing
