// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/command.h"
#include "engine/command_queue.h"

#include <string_view>

namespace belfry::engine {

/// Checks that `access` lies within live memory and, where `written` is asked for, that somebody
/// has written all of it. `who` is the subject of the message: `matmul on S4`. Throws: DeviceError
/// (kOutOfBounds, kUninitialised) naming the buffer and the bytes; where work that was to write the
/// buffer failed, what it threw.
void check_access(const Access& access, bool written, std::string_view who, CallSite site);

/// Checks everything `command` declares, reads as written bytes if `written` says so.
void check_accesses(const Command& command, const CommandQueue& queue, bool written);

}  // namespace belfry::engine
