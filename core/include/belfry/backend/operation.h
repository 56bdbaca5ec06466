// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"

#include <compare>
#include <cstdint>
#include <span>
#include <string>

namespace belfry {

/// Somebody whose steps a schedule orders.
struct AgentId {
  enum class Kind : std::uint8_t { kReplica, kMerge, kStream, kHost };
  Kind kind = Kind::kHost;
  std::int32_t index = 0;  ///< Replica id, depth of the run, stream number; 0 for the host.

  auto operator<=>(const AgentId&) const = default;
};

/// `R2`, `M0`, `S5`, `H0`.
std::string to_string(const AgentId& agent);

/// How an operation touches a resource (the modes of docs/semantics.md, SEM-60).
enum class AccessMode : std::uint8_t {
  kRead,
  kWrite,
  kAccumulate,  ///< Commutes with itself: exact sums.
  kSet,         ///< Makes a fact true for good.
  kBlock,       ///< Waits for a fact.
  kTest,        ///< Observes a fact without waiting.
  kLock,        ///< Takes something exclusive.
};

/// A part of the world an operation touches: a byte range of a buffer, a variable's component, a
/// merge round, an event. `resource` numbers come from their makers in program order.
struct Footprint {
  std::uint64_t resource = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  AccessMode mode = AccessMode::kRead;
};

enum class OperationKind : std::uint8_t {
  kStart,          ///< A replica's body begins.
  kArrive,         ///< A replica reaches a merge; `subject` is its round.
  kMerge,          ///< The merge of round `subject` runs.
  kResume,         ///< A replica leaves the merge of round `subject`.
  kEnd,            ///< A replica's body returned.
  kThrow,          ///< A replica's body threw.
  kVariableRead,   ///< `subject` is the variable's number.
  kVariableWrite,  ///< `subject` is the variable's number.
  kHostRead,       ///< Device memory is read by the host.
  kHostWait,       ///< The host waits for a stream or event.
  kEnqueue,        ///< Work is put on a stream; `subject` is its number there.
  kExecute,        ///< A stream executes work; `subject` is its number there.
  kAllocate,
  kFree,
  kRecord,
  kWait,
  kCollective,
  kHostValue,  ///< An agent has values on the host; `value` is their digest.
};

/// `arrive`, `merge`, ...
const char* to_string(OperationKind kind);

/// One visible step of one agent. Sites are for messages: they enter no hash.
struct Operation {
  OperationKind kind = OperationKind::kStart;
  AgentId agent{};
  std::uint64_t subject = 0;
  /// Of work on devices and kHostValue a digest of the data; of a replica's steps the number of the
  /// run.
  std::uint64_t value = 0;
  std::span<const Footprint> footprints{};
  CallSite site{};
};

/// Sees every operation in the order in which it happened; of several threads only under the
/// concurrent executor. Never throws, if memory runs out either: runs are between two states then.
class OperationSink {
 public:
  virtual ~OperationSink() = default;
  virtual void on_operation(const Operation& operation) = 0;
};

}  // namespace belfry
