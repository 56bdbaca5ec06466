// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/operation.h"
#include "belfry/detail/prints.h"
#include "belfry/sim/annotations.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belfry::sim {

/// An operation of a run, in 32 bytes; without addresses and call sites, since both differ between
/// runs and compilers.
struct LogRecord {
  std::uint64_t subject = 0;                        ///< As Operation::subject.
  std::uint64_t value = 0;                          ///< As Operation::value.
  std::uint64_t hash = 0;                           ///< The hash of the log up to this record.
  std::int32_t agent_index = 0;                     ///< As AgentId::index.
  AgentId::Kind agent_kind = AgentId::Kind::kHost;  ///< As AgentId::kind.
  OperationKind kind = OperationKind::kStart;       ///< As Operation::kind.
  std::uint16_t reserved = 0;                       ///< Always 0.

  AgentId agent() const { return {agent_kind, agent_index}; }  ///< The agent of the operation.
  bool operator==(const LogRecord&) const = default;
};
static_assert(sizeof(LogRecord) == 32);

/// `R2 arrive 0`, with the value if the operation has a value.
std::string to_string(const LogRecord& record);

/// The operations of a run, in order, and hashes of the operations. The first operations are kept,
/// up to a limit and as long as memory suffices; the hashes cover all operations. The begin and end
/// of a run are no operations of the log.
class Log {
 public:
  /// A log that keeps the first `limit` operations, and the call sites of merges if asked to.
  explicit Log(std::size_t limit = 0, bool keep_merge_sites = false)
      : limit_(limit), keep_merge_sites_(keep_merge_sites) {}

  /// Adds an operation. Throws nothing: operations without room are not kept.
  void append(const Operation& operation) {
    const AgentId& agent = operation.agent;
    const auto index = static_cast<std::uint32_t>(agent.index);
    // The fast path is for operations of replicas: the most frequent and the cheapest. Calls are
    // made at the end only: the fast path needs no stack frame.
    if (agent.kind != AgentId::Kind::kReplica || index >= replicas_) [[unlikely]] {
      return append_other(operation);
    }
    count({AgentId::Kind::kReplica, agent.index}, operation, agent_hashes_[kReplicas][index]);
    if (size_++ < limit_) keep(operation);
  }

  /// The operations that are kept.
  const std::vector<LogRecord>& records() const { return records_; }
  /// The call sites of the merges, in order; empty unless asked for. Sites enter no hash.
  const std::vector<CallSite>& merge_sites() const { return merge_sites_; }
  /// Names and lines of the records. No hash has them.
  const Annotations& annotations() const { return annotations_; }
  /// The number of operations so far.
  std::uint64_t size() const { return size_; }
  /// The number of operations at the end that are not kept.
  std::uint64_t dropped() const { return size_ - records_.size(); }
  /// The hash of all operations in their order; 0 for an empty log (SEM-77).
  std::uint64_t hash() const { return hash_; }
  /// A hash that is the same for every order of the agents' turns, if each agent does the same.
  std::uint64_t order_free_hash() const;

 private:
  static constexpr auto kReplicas = static_cast<std::size_t>(AgentId::Kind::kReplica);

  static std::uint64_t chain(std::uint64_t hash, std::uint64_t what) {
    return (std::rotl(hash, 23) ^ what) * 0xFF51AFD7ED558CCDu;
  }
  void count(AgentId agent, const Operation& operation, std::uint64_t& own) {
    // Never 0: a start has neither subject nor value, and a kind of 0 would leave a hash of 0
    // unchanged.
    const std::uint64_t kinds =
        (static_cast<unsigned>(agent.kind) << 5 | static_cast<unsigned>(operation.kind)) + 1;
    const std::uint64_t what =
        std::rotl(operation.subject, 8) ^ kinds ^ operation.value * 0xC2B2AE3D27D4EB4Fu;
    const std::uint64_t next = chain(own, what);
    // Agents with equal operations have equal hashes: the agent's index enters here.
    hash_ = chain(hash_, next ^ static_cast<std::uint32_t>(agent.index));
    // The host acts for any caller: its operations have no order of their own. Whether an agent
    // waits for another agent depends on the order alone.
    if (agent.kind == AgentId::Kind::kHost) [[unlikely]] {
      own += chain(what, what);
    } else if (operation.kind != OperationKind::kWait) [[likely]] {
      own = next;
    }
  }
  void append_other(const Operation& operation);
  std::uint64_t& hash_of(const AgentId& agent);
  std::uint64_t& new_hash(const AgentId& agent);
  bool keep_record(const Operation& operation);
  void keep(const Operation& operation);
  bool keep_site(const Operation& operation);

  std::size_t limit_;
  std::uint64_t size_ = 0;
  std::uint64_t hash_ = 0;
  std::uint32_t replicas_ = 0;  // The size of the replicas' hashes, for the fast path.
  bool keep_merge_sites_;
  std::vector<LogRecord> records_;
  std::vector<CallSite> merge_sites_;
  std::array<std::vector<std::uint64_t>, 4> agent_hashes_;  // By kind and index, 0 before a step,
  std::map<AgentId, std::uint64_t> far_agent_hashes_;       // and by id for large indices.
  std::uint64_t lost_hash_ = 0;  // Of all agents whose hashes found no memory.
  Annotations annotations_;
};

/// The annotation of a record as text, `fill, train.cpp:5`; empty without an
/// annotation.
std::string annotation_text(const Log& log, std::uint64_t record);

/// The first difference between two logs.
struct LogDifference {
  std::uint64_t index = 0;          ///< The index of the first operation that differs.
  std::optional<LogRecord> first;   ///< Nothing if the log has ended, or has dropped the operation.
  std::optional<LogRecord> second;  ///< As `first`, for the second log.
  std::string text;                 ///< Both sides and the operations before, for people.
};

/// LogDifference::text.
std::string to_string(const LogDifference& difference);

/// The first difference of two logs, or nothing if both are the same.
std::optional<LogDifference> compare(const Log& first, const Log& second);

using belfry::operator<<;

}  // namespace belfry::sim
