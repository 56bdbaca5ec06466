// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/flight_ring.h"

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace belfry::detail {

/// A file of a flight recorder: the operations and the present state of a rank.
struct FlightFile {
  const FlightRank& rank;
  int process = 0;
  int processes = 1;
  int ranks = 1;  ///< Of all processes.
  const std::deque<FlightGroup>& groups;
  std::vector<const FlightEntry*> entries{};  ///< Of the rank, the oldest first.
  std::uint64_t first = 0;                    ///< The number of the first entry.
  std::int64_t deadline_ms = 0;
  const char* reason = "call";
  const ErrorReport* error = nullptr;
};

/// The text of a file, in the format 2.10 of PyTorch's flight recorder.
std::string flight_json(const FlightFile& file);

}  // namespace belfry::detail
