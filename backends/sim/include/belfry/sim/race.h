// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/prints.h"

#include <cstdint>
#include <string>

namespace belfry::sim {

/// An access of a race.
struct RaceSide {
  std::string agent;        ///< The host agent that made the access: `R1 of run 1`, `H0`.
  std::string operation;    ///< The work and its stream, `copy in S4`, or `read by the host`.
  bool writes = false;      ///< Whether the access writes.
  std::uint64_t begin = 0;  ///< The first byte of the buffer or variable.
  std::uint64_t end = 0;    ///< The byte after the last; 0: all.
  std::string place;        ///< The file and line of the user's call, `train.cpp:5`; may be empty.

  bool operator==(const RaceSide&) const = default;
};

/// `R1 of run 1: copy in S4 writes bytes 0 to 8, train.cpp:5`.
std::string to_string(const RaceSide& side);

/// Two accesses to the same bytes, at least one a write, whose order some schedules reverse.
struct Race {
  RaceSide first;       ///< The access that came first in the run with the race.
  RaceSide second;      ///< The access that came second.
  std::string subject;  ///< The bytes: `buffer 2 of R0 of run 1`, `host memory`, or an event.
  std::string missing;  ///< The order that is missing, in a sentence.

  bool operator==(const Race&) const = default;
};

/// The subject, a line for each side, and the missing order.
std::string to_string(const Race& race);

using belfry::operator<<;

}  // namespace belfry::sim
