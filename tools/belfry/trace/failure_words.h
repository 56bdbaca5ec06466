// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/trace_job.h"

#include <string>
#include <vector>

namespace belfry::tool {

/// A text for each failure and each verdict about a mistake: a sentence, then lines behind two
/// blanks. After a failure, or without an end, the last text has the place of each replica. A trace
/// with steps left out has no places.
std::vector<std::string> failure_lines(const TraceJob& job);

}  // namespace belfry::tool
