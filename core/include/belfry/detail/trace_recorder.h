// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/operation.h"
#include "belfry/detail/run_view.h"
#include "belfry/detail/trace_variables.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace belfry::detail {

/// Turns the operations of the runs of a backend into steps.
class TraceRecorder {
 public:
  /// `host`: of a cluster, or -1. `values`: null if no elements of tensors are known.
  TraceRecorder(TraceWriter& writer, int host, DeviceValues* values)
      : writer_(writer), host_(host), values_(values), variables_(writer, host, values) {}

  /// `write()`, which writes steps, one thread at a time. Steps are missing without memory, and if
  /// ElementTraits of the program throw.
  template <class Write>
  void locked(const Write& write) noexcept {
    const std::lock_guard lock(mutex_);
    try {
      write();
    } catch (...) {
    }
  }
  // All further functions: within `locked`.

  /// A step of a replica or merge, or the begin or end of a run. `caller`: of the begin and end of
  /// a run, the agent that calls `run`. Throws: std::bad_alloc.
  void operation(const Operation& operation, const TraceActor& actor, const TraceActor& caller);

  TraceVariables& variables() { return variables_; }
  TraceWriter& writer() { return writer_; }
  std::string agent(const AgentId& agent) { return writer_.agent(host_, agent); }
  int host() const { return host_; }

 private:
  // The merges of the same replicas.
  struct Meetings {
    std::uint64_t merges = 0;
    std::vector<std::uint64_t> arrivals;  // Steps since the latest merge.
    std::optional<std::uint64_t> latest;  // The step of the latest merge.
  };
  struct Run {
    std::optional<std::uint64_t> begin;
    std::vector<std::uint64_t> ends;
    std::map<std::string, Meetings> meetings;  // By the members of a group; empty: all replicas.
  };

  void begin_run(const Operation& operation, const TraceActor& actor, const TraceActor& caller);
  void end_run(const Operation& operation, const TraceActor& actor, const TraceActor& caller);
  void at_merge(const Operation& operation, const TraceActor& actor, TraceStep step);

  std::mutex mutex_;
  TraceWriter& writer_;
  int host_;
  DeviceValues* values_;
  std::map<std::uint32_t, Run> runs_;
  TraceVariables variables_;
};

}  // namespace belfry::detail
