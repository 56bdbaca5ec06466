// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "console.h"
#include "exit_code.h"

#include <ostream>
#include <string>
#include <vector>

namespace belfry::tool {

struct TraceJob;

/// Writes the steps in the trace-event format of ui.perfetto.dev and chrome://tracing.
///
/// Rows: the runs, and each agent; the streams of a process are a group of their own. The step with
/// the index i is a slice of 1 us from i us on: a trace has an order and no times. Runs, the bodies
/// of replicas and waits for merges are slices around slices of steps. Arrows lead along `after`.
/// Arguments of a slice: the step in words, the line, and the number in the file.
void write_perfetto(const TraceJob& job, std::ostream& out);

struct ExportOptions {
  std::vector<std::string> files{};  ///< One of each process of a job.
  bool perfetto = false;             ///< The only format: always true.
  std::string out{};
};

/// Writes a file for Perfetto. Throws: as read_job; InvalidArgumentError (kFile).
ExitCode export_perfetto(const ExportOptions& options, Console& console);

}  // namespace belfry::tool
