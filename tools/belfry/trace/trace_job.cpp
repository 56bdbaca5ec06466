// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "trace/trace_job.h"

#include "exit_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace belfry::tool {
namespace {

void require_one_job(const std::vector<Trace>& traces) {
  for (std::size_t i = 1; i < traces.size(); ++i) {
    const Trace& last = traces[i - 1];
    const Trace& here = traces[i];
    if (here.processes != last.processes || here.backend != last.backend) {
      throw UsageError(
          ErrorCode::kInvalidArgument,
          fmt::format("{} and {} are not of one job: {} and {} processes, on {} and {}", last.file,
                      here.file, last.processes, here.processes, last.backend, here.backend));
    }
    if (here.process == last.process) {
      throw UsageError(
          ErrorCode::kInvalidArgument,
          fmt::format("{} and {} are both of process {}", last.file, here.file, here.process),
          "name one file of each process; belfry diff compares two runs");
    }
  }
}

}  // namespace

std::string TraceJob::number_of(const JobStep& at) const {
  const std::int64_t number = step(at).step;
  if (processes.size() == 1) return std::to_string(number);
  return fmt::format("{}:{}", trace_of(at).process, number);
}

bool TraceJob::fails() const {
  return std::ranges::any_of(processes, [](const Trace& t) { return t.fails(); });
}

TraceJob make_job(std::vector<Trace> traces) {
  std::ranges::sort(
      traces, [](const Trace& one, const Trace& other) { return one.process < other.process; });
  require_one_job(traces);
  TraceJob job{.processes = std::move(traces)};
  for (std::size_t p = 0; p < job.processes.size(); ++p) {
    for (std::size_t i = 0; i < job.processes[p].steps.size(); ++i) job.order.push_back({p, i});
  }
  std::ranges::sort(job.order, {},
                    [&](const JobStep& at) { return std::pair(job.step(at).phase, at); });
  return job;
}

TraceJob read_job(const std::vector<std::string>& paths, const TraceReading& how) {
  std::vector<Trace> traces;
  for (const std::string& path : paths) traces.push_back(read_trace(path, how));
  return make_job(std::move(traces));
}

}  // namespace belfry::tool
