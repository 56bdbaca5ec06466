// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/trace_source.h"
#include "belfry/sim/verdict.h"
#include "explore/body_run.h"

namespace belfry::sim {

/// The trace of an exploration: the caller's, or, for a verdict that tells of a mistake, a trace of
/// the thread's source. Meanwhile no other backend gets traces of the source.
class VerdictTrace {
 public:
  /// `trace`: the caller's, or null.
  explicit VerdictTrace(TraceFile* trace) : trace_(trace) {
    belfry::detail::trace_source = nullptr;
  }
  VerdictTrace(const VerdictTrace&) = delete;
  VerdictTrace& operator=(const VerdictTrace&) = delete;
  ~VerdictTrace() { belfry::detail::trace_source = source_; }

  /// Runs the schedule that shows the verdict once more, into the trace, if there is a trace.
  /// `options`: of the exploration, checked. Throws: InvalidArgumentError for a trace with steps.
  void write(const Verdict& verdict, Options options, const ExploredBody& body,
             const CallSite& site) const;

 private:
  belfry::detail::TraceSource* const source_ = belfry::detail::trace_source;
  TraceFile* const trace_;
};

}  // namespace belfry::sim
