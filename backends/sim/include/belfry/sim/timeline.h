// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/prints.h"

#include <cstddef>
#include <string>

namespace belfry {
class TraceFile;
}  // namespace belfry

namespace belfry::sim {

/// The limits of a timeline; the last line counts the steps beyond.
struct TimelineOptions {
  std::size_t max_rows = 200;  ///< Rows of operations.
  int max_replicas = 8;        ///< Replicas, of each host, with a column each; others share one.
  /// Also shows allocations, records, waits, digests of values on the host, and the enqueueing of
  /// work that is executed; each step then has a row.
  bool bookkeeping = false;
  bool streams = true;           ///< Shows work of streams, and the enqueueing of work.
  std::size_t max_elements = 8;  ///< Elements of each value; a trace has 8 at most.
  /// A cell goes on in the next line at this many letters, between words; 0: never.
  std::size_t max_width = 0;
};

/// The options as an initializer that compiles, without members of their usual value:
/// `{.max_rows = 20, .bookkeeping = true}`.
std::string to_string(const TimelineOptions& options);

/// The trace as a table, with the values that replicas bring to merges and get, and that streams
/// write; time runs down. The first values of a long list are shown. Columns: each replica, merges,
/// streams, the host, and lines of the program; columns without contents are left out. Neighbouring
/// steps of a replica share a row, and so do neighbouring equal steps of several replicas or
/// streams. A row has the number of its first step. Rows without a number mark the begin and end of
/// each run, with the failure of a run that failed. Waits of a stream for a stream of another
/// device are shown. Of a cluster, each replica of each host has a column, such as `H1 R0`, and
/// shared columns name the host.
/// Throws: InvalidArgumentError (kFileFormat): the file cannot be read, or is no trace.
std::string timeline(const TraceFile& trace, const TimelineOptions& options = {});

using belfry::operator<<;

}  // namespace belfry::sim
