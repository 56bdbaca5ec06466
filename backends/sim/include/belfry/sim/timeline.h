// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/log.h"

#include <cstddef>
#include <string>

namespace belfry::sim {

struct TimelineOptions {
  std::size_t max_rows = 200;
  int max_replicas = 8;  ///< Columns of their own; replicas beyond share one.
};

/// The log as a table: time runs down, one row an operation; one column for each replica, one for
/// merges, one for streams and one for the host, as far as each does something.
std::string timeline(const Log& log, const TimelineOptions& options = {});

}  // namespace belfry::sim
