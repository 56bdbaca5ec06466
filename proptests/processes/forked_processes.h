// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/process_group.h"

#include <chrono>
#include <functional>
#include <vector>

namespace belfry::testing {

/// Calls `body(group)` in `processes` copies of this process, made by fork, and returns the exit
/// status of each: the result of `body`, 1 after an exception, or 128 and the number of the signal.
/// For tests of real GPUs, whose processes need no launcher. CUDA must not be in use before.
/// `deadline` is that of the group. Throws: std::system_error.
std::vector<int> run_forked(int processes, std::chrono::milliseconds deadline,
                            const std::function<int(ProcessGroup&)>& body);

}  // namespace belfry::testing
