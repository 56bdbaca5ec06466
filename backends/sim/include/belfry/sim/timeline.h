// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/cluster_log.h"
#include "belfry/sim/log.h"

#include <cstddef>
#include <string>

namespace belfry::sim {

/// The limits of a timeline; the last line counts the rows beyond.
struct TimelineOptions {
  std::size_t max_rows = 200;  ///< Rows of operations.
  int max_replicas = 8;        ///< Replicas, of each host, with a column each; others share one.
  /// Also shows allocations, records and waits of events, and digests of values on the host.
  bool bookkeeping = false;
};

/// The options as an initializer that compiles, without members of their usual value:
/// `{.max_rows = 20, .bookkeeping = true}`.
std::string to_string(const TimelineOptions& options);

/// The log as a table, with a row for each operation, in order. Columns: each replica, merges,
/// streams, the host, and the annotations of the rows; columns without contents are left out. An
/// operation that the host carries out for a replica is in the replica's column. Rows without a
/// number mark the begin and end of each run, with the failure of a run that failed.
std::string timeline(const Log& log, const TimelineOptions& options = {});
/// The log of a cluster as such a table. Each replica of each host has a column, such as `H1 R0`:
/// replicas are numbered by host. The column `group` has the operations of the hosts. In columns
/// that hosts share, and in front of runs, the host is named.
std::string timeline(const ClusterLog& log, const TimelineOptions& options = {});

using belfry::operator<<;

}  // namespace belfry::sim
