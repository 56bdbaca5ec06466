// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/json_value.h"
#include "trace/trace_step.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace belfry::tool {

using detail::JsonValue;

/// A participant of a run: a replica, the merges, a stream, the host.
struct TraceAgent {
  enum class Kind : std::uint8_t { kReplica, kMerge, kStream, kHost, kOther };

  std::string id{};
  Kind kind = Kind::kOther;
  std::int64_t index = -1;
  std::int64_t host = 0;
  std::int64_t replica = -1;  ///< Of a stream; of a replica its own number.
  std::string role{};         ///< Of a stream: `compute`, `communication`, ...
  std::string name{};         ///< For people: `compute of replica 0`.
};

struct TraceVariable {
  std::string name{};
  std::string kind{};  ///< `mirrored` or `replica_local`; empty if not known.
  std::string type{};
  std::vector<std::int64_t> shape{};
};

/// The trace of a process: `docs/trace.md` has the format.
struct Trace {
  std::string file{};
  std::string backend{};
  std::string options{};
  std::string program{};
  std::int64_t process = 0;
  std::int64_t processes = 1;
  std::int64_t hosts = 1;
  std::int64_t replicas = 0;
  std::vector<TraceAgent> agents{};
  std::map<std::int64_t, TraceVariable> variables{};
  std::vector<TraceStep> steps{};  ///< Those that were kept, in the order of their numbers.
  std::int64_t total = 0;          ///< Steps of the file, kept or not.
  std::optional<TraceFailure> failure{};
  std::optional<JsonValue> verdict{};
  bool ended = false;                ///< The last line is there.
  std::int64_t cut = 0;              ///< Steps that the writer left out.
  std::string token{};               ///< Replays the run on the simulator.
  std::vector<std::string> notes{};  ///< About the file: a torn line, a missing end.

  const TraceAgent& agent_of(const TraceStep& step) const {
    return agents[static_cast<std::size_t>(step.agent)];
  }
  /// Null if the number is unknown or was not kept.
  const TraceStep* find(std::int64_t number) const;
  /// The name of the variable of the step, or `variable 3`.
  std::string variable_of(const TraceStep& step) const;
  /// Whether a run, a step or the program failed, or a verdict tells of a mistake.
  bool fails() const;
};

}  // namespace belfry::tool
