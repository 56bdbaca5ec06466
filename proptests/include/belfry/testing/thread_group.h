// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/process_group.h"

#include <functional>

namespace belfry::testing {

/// Calls `body(group)` once for each of `processes` processes, each on a thread of its own, and
/// returns when all have ended. A call of the group waits for all threads.
/// Each thread has a watchdog with the options of the calling thread's watchdog.
/// The hosts of the group are `host0`, `host1` and so on. The group measures no time: its health
/// has no deadline, and a thread that never calls is a case for the watchdog. The group exchanges
/// tensors in parts from 256 bytes on (SEM-220).
/// A thread leaves the group at the end of its body; calls without hope throw ProcessLostError with
/// the rank and, if the body threw, the text of the exception.
/// Throws: the cause before its consequences: the exception of the lowest process, but
/// ProcessLostError and PeerFailedError only if no process threw anything else.
void run_processes(int processes, const std::function<void(ProcessGroup&)>& body);

}  // namespace belfry::testing
