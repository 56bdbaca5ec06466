// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "console.h"
#include "exit_code.h"

#include <string>

namespace belfry::tool {

struct Trace;

struct DiffOptions {
  std::string a{};  ///< The files.
  std::string b{};
  bool json = false;
};

/// Tells where two runs part, and the first cause. Runs with unequal numbers of replicas are
/// compared by results. Returns kMismatch if the runs differ. Throws: as read_trace.
ExitCode diff(const DiffOptions& options, Console& console);
/// The same for traces in memory.
ExitCode diff_traces(const Trace& a, const Trace& b, bool json, Console& console);

}  // namespace belfry::tool
