// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/error.h"

#include <string>
#include <vector>

namespace belfry::detail {

// The reports of all kinds of groups have the same texts.

/// The calls of the processes, in order of rank, differ: `gather`, `broadcast from process 1`.
ErrorReport calls_differ(const std::vector<std::string>& calls);
/// A process has left the group; `reason` may be empty.
ErrorReport process_left(int rank, const std::string& reason);
/// `process 1`, `processes 0,2`.
std::string processes_text(const std::vector<int>& ranks);

}  // namespace belfry::detail
