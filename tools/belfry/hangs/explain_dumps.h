// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "console.h"
#include "exit_code.h"
#include "hangs/hang.h"

#include <string>
#include <vector>

namespace belfry::tool::hangs {

/// Tells in words, or as an object of JSON, why the ranks of the dumps wait.
/// Returns kMismatch if ranks diverge or wait. Throws: as read_dumps.
ExitCode explain_dumps(const std::vector<std::string>& files, bool json, Console& console);
/// The same for dumps in memory.
ExitCode explain_job(const Job& job, bool json, Console& console);

}  // namespace belfry::tool::hangs
