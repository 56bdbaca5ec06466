// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/prints.h"

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace belfry {

/// A source of steps that a schedule orders.
struct AgentId {
  /// The kinds of agents.
  enum class Kind : std::uint8_t { kReplica, kMerge, kStream, kHost };
  Kind kind = Kind::kHost;  ///< The kind of the agent.
  std::int32_t index = 0;   ///< Replica id, depth of the run, stream number; 0 for the host.

  auto operator<=>(const AgentId&) const = default;
};

/// `R2`, `M0`, `S5`, `H0`.
std::string to_string(const AgentId& agent);

/// The mode of an operation's access to a resource (docs/semantics.md, SEM-60).
enum class AccessMode : std::uint8_t { kRead, kWrite };

/// The bytes [begin, end) of a buffer that an operation touches. No two buffers of a backend have
/// the same resource.
struct Footprint {
  std::uint64_t resource = 0;           ///< The number of the buffer.
  std::uint64_t begin = 0;              ///< The first byte.
  std::uint64_t end = 0;                ///< The byte after the last.
  AccessMode mode = AccessMode::kRead;  ///< Reads or writes.
};

/// The kind of a step.
enum class OperationKind : std::uint8_t {
  kStart,          ///< A replica's body begins.
  kArrive,         ///< A replica reaches a merge; `subject` is the merge's round.
  kMerge,          ///< The merge of round `subject` runs.
  kResume,         ///< A replica leaves the merge of round `subject`.
  kEnd,            ///< A replica's body returned.
  kThrow,          ///< A replica's body threw.
  kVariableRead,   ///< `subject` is the variable's number.
  kVariableWrite,  ///< `subject` is the variable's number.
  kHostRead,       ///< Device memory is read by the host.
  kHostWait,       ///< The host waits for a stream or event.
  kEnqueue,        ///< Work is enqueued on a stream; `subject` is the work's number there.
  kExecute,        ///< A stream executes work; `subject` is the work's number there.
  kAllocate,
  kFree,
  kRecord,
  kWait,
  kCollective,
  kHostValue,  ///< An agent has values on the host; `value` is a digest of them.
  kRunBegin,   ///< A run begins; `subject` is the number of its replicas. No step of an agent.
  kRunEnd,     ///< All replicas of a run have ended. No step of an agent.
};

/// `arrive`, `merge`, ...
const char* to_string(OperationKind kind);

/// Whether operations of the kind are steps of an agent. A log keeps the others beside its records.
constexpr bool is_step(OperationKind kind) { return kind < OperationKind::kRunBegin; }

/// A visible step of an agent, or the begin or end of a run. `failed`, `members`, `site` and `name`
/// are for people and enter no hash.
struct Operation {
  OperationKind kind = OperationKind::kStart;  ///< The kind of the step.
  bool failed = false;  ///< Work failed or was skipped after a failure, or a run failed.
  /// Of kCollective: its members; 65535 also stands for more. Of kMerge: the members of its group;
  /// 0: all replicas.
  std::uint16_t members = 0;
  AgentId agent{};            ///< The agent that takes the step.
  std::uint64_t subject = 0;  ///< As the kind says, else 0.
  /// For work on devices and kHostValue, a digest of the data; for steps of a replica and for the
  /// begin and end of a run, the number of the run among the runs of its strategy.
  std::uint64_t value = 0;
  std::span<const Footprint> footprints{};  ///< The bytes that the step touches.
  CallSite site{};                          ///< The user's call.
  /// The kernel, the verb of a merge or the variable; of kThrow and kRunEnd the exception, if any.
  /// Valid until the sink returns.
  std::string_view name{};
};

/// Receives every operation in order. Only the concurrent executor calls a sink from several
/// threads. Must not throw, even if memory runs out: a run may be between two states.
class OperationSink {
 public:
  virtual ~OperationSink() = default;
  /// Receives an operation, which is valid during the call.
  virtual void on_operation(const Operation& operation) = 0;
};

}  // namespace belfry
