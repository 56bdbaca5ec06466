// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/stall_watch.h"
#include "belfry/error.h"

#include <cstdint>
#include <span>
#include <string>

namespace belfry::testing {

/// A run without a move for `limit_ms` milliseconds: the state and place of each replica.
ErrorReport stall_report(const RunProgress& run, std::uint32_t limit_ms);

/// A line for each call: the program, the function if known, and the offset for `addr2line`.
std::string call_lines(std::span<void* const> calls);

}  // namespace belfry::testing
