// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "log/log_sequence.h"

#include <compare>
#include <cstdint>
#include <string>

namespace belfry::sim {

/// A row of a picture: the trace-event format calls the group a process, and the row a thread.
struct Track {
  int group = 0;
  std::int32_t row = 0;

  auto operator<=>(const Track&) const = default;
};

// Perfetto takes a row with the number 0 or the number of its group for the main thread of the
// group, and shows the row first.
inline constexpr std::int32_t kCallsRow = 1;  // Of a host of a cluster.
inline constexpr std::int32_t kRunsRow = 2;
inline constexpr std::int32_t kMergesRow = 3;
inline constexpr std::int32_t kHostRow = 4;
inline constexpr std::int32_t kOtherRunsRow =
    5;  // To 9: runs that overlap a run in each row before.
inline constexpr std::int32_t kFirstReplicaRow = 10;
inline constexpr std::int32_t kFirstStreamRow = 10;

/// The row of an agent, to which an operation of the part belongs.
Track track_of(const LogSequence::Part& part, const AgentId& owner);
/// The row of the runs of a part.
Track track_of_runs(const LogSequence::Part& part);

/// The name of the row, on a backend with so many devices.
std::string title_of(const Track& track, int devices);
/// `program`, `streams`, `host 1 program`.
std::string group_title_of(const Track& track);

}  // namespace belfry::sim
