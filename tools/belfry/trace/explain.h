// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "console.h"
#include "exit_code.h"

#include <string>
#include <vector>

namespace belfry::tool {

struct TraceJob;

struct ExplainOptions {
  std::vector<std::string> files{};  ///< One of each process of a job.
  std::string replica{};             ///< A number, or the id of an agent; empty: all.
  std::string variable{};            ///< A name or number; empty: all.
  std::string around{};              ///< The number of a step; empty: all.
  bool all = false;                  ///< Bookkeeping too.
  bool json = false;
};

/// Tells traces as numbered steps in words: first failures and verdicts, at the end the variables.
/// Returns kMismatch if the program failed. Throws: UsageError for an
/// unknown replica, variable or step; as read_job.
ExitCode explain(const ExplainOptions& options, Console& console);
/// The same for traces in memory.
ExitCode explain_job(const TraceJob& job, const ExplainOptions& options, Console& console);

}  // namespace belfry::tool
