// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/log.h"

#include <cstddef>
#include <string>

namespace belfry::sim {

/// Limits of a timeline.
struct TimelineOptions {
  std::size_t max_rows = 200;  ///< The rows of the table.
  int max_replicas = 8;        ///< Replicas with a column each; all others share a column.
};

/// The log as a table, with a row for each operation, in order. Columns: each replica, merges,
/// streams, and the host; columns without operations are left out.
std::string timeline(const Log& log, const TimelineOptions& options = {});

}  // namespace belfry::sim
