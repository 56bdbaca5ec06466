// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/error.h"
#include "engine/command.h"
#include "engine/command_queue.h"

#include <string>
#include <string_view>

namespace belfry::engine {

/// Checks that `access` lies within live memory and, with `written`, that all its bytes have been
/// written. `who` is the subject of the message: `matmul on S4`. Throws: DeviceError (kOutOfBounds,
/// kUninitialised) naming the buffer and the bytes; if work that was to write the buffer failed,
/// the exception of the work. `replica` is the replica that launched the access; -1 for the host.
void check_access(const Access& access, bool written, std::string_view who, CallSite site,
                  int replica = -1);

/// Checks all accesses of `command`; with `written`, that the bytes of its reads have been written.
void check_accesses(const Command& command, const CommandQueue& queue, bool written);

/// The report of work that failed: names the call that launched the work and, unless -1, the
/// replica.
ErrorReport report_on_work(ErrorCode code, std::string summary, std::string hint, CallSite site,
                           int replica);

}  // namespace belfry::engine
