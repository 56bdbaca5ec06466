// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/log.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace belfry::sim {

/// The log of a run of a cluster: the operations of the hosts and of their backends, in one order
/// (SEM-222).
class ClusterLog {
 public:
  /// The number of operations of a backend before an operation of the hosts.
  struct Turn {
    int host = -1;                 ///< The host of the backend; -1: none.
    std::uint64_t operations = 0;  ///< The number of operations of the backend until then.
  };

  ClusterLog() = default;
  /// An empty log that keeps the first `limit` operations of the hosts.
  ClusterLog(int hosts, std::size_t limit);

  /// The number of hosts; 0 before the first run.
  int host_count() const { return static_cast<int>(backends_.size()); }
  /// The operations of the hosts. Host h is agent Rh. The arrival at a call of the group has the
  /// number of the call as the subject, and the call as the name.
  const Log& hosts() const { return hosts_; }
  /// The operations of the backend of a host, complete when the run has returned.
  const Log& backend(int host) const { return backends_.at(static_cast<std::size_t>(host)); }
  /// For each kept operation of the hosts, the operations so far on the previous host's backend.
  /// Operations outside every turn come last.
  const std::vector<Turn>& turns() const { return turns_; }
  /// The number of all operations.
  std::uint64_t size() const;
  /// A hash of all operations in their order; 0 before the first run.
  std::uint64_t hash() const;

  /// For clusters: adds an operation of a host, whose turn begins with the operation.
  /// `operations`: operations so far on the previous host's backend.
  void append(const Operation& operation, std::uint64_t operations);
  /// For clusters: adds the log of a backend whose host has ended.
  void add(int host, Log backend) {
    backends_[static_cast<std::size_t>(host)] = std::move(backend);
  }
  /// The host that has the turn; -1 before the first operation.
  int turn() const { return turn_; }

 private:
  Log hosts_;
  std::vector<Log> backends_;
  std::vector<Turn> turns_;
  int turn_ = -1;
  std::uint64_t turns_hash_ = 0;
};

}  // namespace belfry::sim
