// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "log/trace_track.h"

#include "stream_numbers.h"

#include <fmt/format.h>

namespace belfry::sim {
namespace {

// The groups of a log. The groups of host h of a cluster are higher by kFirstHost + 2 h.
constexpr int kProgram = 1;
constexpr int kStreams = 2;
constexpr int kFirstHost = 1 << 28;

int group_of(int host, int group) { return host < 0 ? group : kFirstHost + 2 * host + group; }
// The host of a group, or -1.
int host_of(int group) { return group < kFirstHost ? -1 : (group - kFirstHost - kProgram) / 2; }
bool has_streams(int group) { return (group - kProgram) % 2 != 0; }

}  // namespace

Track track_of(const LogSequence::Part& part, const AgentId& owner) {
  if (part.is_group) return {group_of(owner.index, kProgram), kCallsRow};
  const int program = group_of(part.host, kProgram);
  switch (owner.kind) {
    case AgentId::Kind::kReplica:
      return {program, kFirstReplicaRow + owner.index};
    case AgentId::Kind::kMerge:
      return {program, kMergesRow};
    case AgentId::Kind::kStream:
      return {group_of(part.host, kStreams), kFirstStreamRow + owner.index};
    case AgentId::Kind::kHost:
      break;
  }
  return {program, kHostRow};
}

Track track_of_runs(const LogSequence::Part& part) {
  return {group_of(part.host, kProgram), kRunsRow};
}

std::string title_of(const Track& track, int devices) {
  if (!has_streams(track.group)) {
    if (track.row == kCallsRow) return "calls of the group";
    if (track.row == kRunsRow) return "runs";
    if (track.row == kMergesRow) return "merges";
    if (track.row == kHostRow) return "host";
    if (track.row < kFirstReplicaRow) {
      return fmt::format("runs, row {}", track.row - kOtherRunsRow + 2);
    }
    return fmt::format("R{}", track.row - kFirstReplicaRow);
  }
  const std::int32_t number = track.row - kFirstStreamRow;
  if (number >= devices * kStreamsOfDevice) return fmt::format("S{}", number);
  return fmt::format(
      "S{} {}", number,
      stream_name(fmt::format("device {}", number / kStreamsOfDevice), number % kStreamsOfDevice));
}

std::string group_title_of(const Track& track) {
  const int host = host_of(track.group);
  const char* const kind = has_streams(track.group) ? "streams" : "program";
  return host < 0 ? kind : fmt::format("host {} {}", host, kind);
}

}  // namespace belfry::sim
