// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/trace_job.h"

#include <string>
#include <vector>

namespace belfry::tool {

/// A text for each failure and each verdict about a mistake: a sentence, then lines behind two
/// blanks.
std::vector<std::string> failure_lines(const TraceJob& job);
/// The last step of each replica, in words, of traces with a failure or without an end. A trace
/// with steps left out has none.
std::vector<std::string> place_lines(const TraceJob& job);

}  // namespace belfry::tool
