// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/operation.h"
#include "belfry/detail/run_view.h"
#include "belfry/detail/trace_writer.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belfry::detail {

/// The agent of a step, and its run, from 1; 0 outside of runs.
struct TraceActor {
  AgentId agent{};
  std::uint32_t run = 0;
};

/// Tells a trace of the elements of tensors.
class DeviceValues {
 public:
  virtual ~DeviceValues() = default;
  /// Sets `buffer`, and `elements` if they are known.
  virtual void show(const BufferView& view, TracedValue& value) = 0;
  /// The elements were not known: writes them when they are, as value `index` of `list`.
  virtual void show_later(const BufferView& view, std::uint64_t step, std::string_view list,
                          std::size_t index) = 0;
};

/// Turns the operations of the runs of a backend into steps. One thread at a time.
class TraceRecorder {
 public:
  /// `host`: of a cluster, or -1. `values`: null if no elements of tensors are known.
  TraceRecorder(TraceWriter& writer, int host, DeviceValues* values)
      : writer_(writer), host_(host), values_(values) {}

  /// A step of a replica or merge, or the begin or end of a run. `caller`: of the begin and end of
  /// a run, the agent that calls `run`. Throws: std::bad_alloc.
  void operation(const Operation& operation, const TraceActor& actor, const TraceActor& caller);

  TraceWriter& writer() { return writer_; }
  std::string agent(const AgentId& agent) { return writer_.agent(host_, agent); }
  int host() const { return host_; }

 private:
  struct Run {
    std::optional<std::uint64_t> begin;
    std::vector<std::uint64_t> ends;
    std::map<std::uint64_t, std::vector<std::uint64_t>> arrivals;  // By round.
    std::map<std::uint64_t, std::uint64_t> merges;                 // By round.
  };
  class Values;

  void begin_run(const Operation& operation, const TraceActor& actor, const TraceActor& caller);
  void end_run(const Operation& operation, const TraceActor& actor, const TraceActor& caller);
  void at_merge(const Operation& operation, const TraceActor& actor, TraceStep step);
  void at_variable(const Operation& operation, const TraceActor& actor, TraceStep step);

  TraceWriter& writer_;
  int host_;
  DeviceValues* values_;
  std::map<std::uint32_t, Run> runs_;
  std::set<std::uint64_t> variables_;
  std::map<std::pair<std::uint64_t, AgentId>, std::uint64_t> versions_;
};

}  // namespace belfry::detail
