// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/cluster_log.h"
#include "belfry/sim/log.h"

#include <string>

namespace belfry::sim {

/// The log in the trace-event format: save the text to a file and open the file in Perfetto
/// (ui.perfetto.dev), or in the older viewer chrome://tracing.
///
/// Rows: the runs, the merges, the host, each replica, each stream. An operation that the host
/// carries out for a replica is in the replica's row. Each operation of the log is a slice of 1 us
/// that begins at its index: the simulator has an order and no times. Spans are slices around these
/// slices: a run, the body of a replica, and the waits for merges. The name of a failed run has the
/// failure; the name of failed work begins with FAILED. Arrows lead from the enqueueing of work to
/// its execution, and through the members of a collective. Arguments of a slice: bytes, file and
/// line, kernel, variable or exception, digest.
///
/// Runs of several threads, on the concurrent carrier, may overlap, and have a row each. The bodies
/// of a replica share a row, and may end in the wrong order.
std::string trace_json(const Log& log);
/// The log of a cluster in this format. Each host has two groups of rows, such as `host 1 program`
/// and `host 1 streams`. The row `calls of the group` has the program of the host, with the waits
/// for the other hosts; an arrow leads through the arrivals of all hosts at a call, from the first
/// to the last.
std::string trace_json(const ClusterLog& log);

}  // namespace belfry::sim
