// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/trace_reader.h"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace belfry::tool {

/// A step of a process, by indices.
struct JobStep {
  std::size_t process = 0;  ///< Of TraceJob::processes.
  std::size_t index = 0;    ///< Of Trace::steps.
  auto operator<=>(const JobStep&) const = default;
};

/// The traces of the processes of a job.
struct TraceJob {
  std::vector<Trace> processes{};
  /// All steps. Processes have no common clock: the steps between two merges, or calls of the
  /// group, stand process after process; merges of the same number are neighbours.
  std::vector<JobStep> order{};

  const Trace& trace_of(const JobStep& at) const { return processes[at.process]; }
  const TraceStep& step(const JobStep& at) const { return trace_of(at).steps[at.index]; }
  /// `12`; of several processes `1:12`, with the number of the process.
  std::string number_of(const JobStep& at) const;
  bool fails() const;
};

/// Puts the steps in order. Throws: UsageError if the traces are not of one job.
TraceJob make_job(std::vector<Trace> traces);
/// Reads a file of each process. Throws: as read_trace and make_job.
TraceJob read_job(const std::vector<std::string>& paths, const TraceReading& how = {});

}  // namespace belfry::tool
