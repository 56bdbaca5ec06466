// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "log/log_sequence.h"

#include <algorithm>
#include <map>

namespace belfry::sim {

LogSequence::LogSequence(const Log& log) : parts_{{.log = &log}}, places_(1), total_(log.size()) {
  add(0, log.records().size());
  add_marks(log.dropped() == 0);
}

LogSequence::LogSequence(const ClusterLog& logs) : total_(logs.size()) {
  const auto hosts = static_cast<std::uint32_t>(logs.host_count());
  for (int host = 0; host < logs.host_count(); ++host) {
    parts_.push_back({.log = &logs.backend(host), .host = host});
  }
  parts_.push_back({.log = &logs.hosts(), .is_group = true});
  places_.resize(parts_.size());
  bool is_whole = true;
  for (std::uint64_t i = 0; i < logs.turns().size() && is_whole; ++i) {
    const ClusterLog::Turn& turn = logs.turns()[i];
    if (turn.host >= 0) is_whole = add(static_cast<std::uint32_t>(turn.host), turn.operations);
    is_whole = is_whole && add(hosts, i + 1);
  }
  is_whole = is_whole && logs.turns().size() == logs.hosts().size();
  for (std::uint32_t host = 0; host < hosts && is_whole; ++host) {
    is_whole = add(host, parts_[host].log->size());
  }
  add_marks(is_whole);
}

// Adds the operations of a part up to `end`. False if some are not kept.
bool LogSequence::add(std::uint32_t part, std::uint64_t end) {
  std::vector<std::uint64_t>& places = places_[part];
  const std::uint64_t kept = parts_[part].log->records().size();
  for (std::uint64_t record = places.size(); record < std::min(end, kept); ++record) {
    places.push_back(steps_.size());
    steps_.push_back({part, static_cast<std::uint32_t>(record)});
  }
  return end <= kept;
}

// A run begins right before its first operation, and ends right after its last one. After the last
// kept operation of a backend, the place of an end is not known: other hosts may go first.
void LogSequence::add_marks(bool is_whole) {
  const bool is_cluster = parts_.size() > 1;
  std::multimap<std::uint64_t, Mark> by_place;  // Marks at one place stay in the order of parts.
  for (std::uint32_t part = 0; part < parts_.size(); ++part) {
    const std::vector<std::uint64_t>& places = places_[part];
    const Log& log = *parts_[part].log;
    for (const RunMark& run : log.annotations().runs()) {
      if (run.record > places.size()) break;
      const bool at_end = run.record == places.size();
      const bool is_known = run.begins ? is_whole : !is_cluster || log.dropped() == 0;
      if (at_end && !is_known) break;
      const bool follows = !run.begins || at_end;
      std::uint64_t place = 0;
      if (follows) {
        place = run.record == 0 ? 0 : places[run.record - 1] + 1;
      } else {
        place = places[run.record];
      }
      by_place.insert({place, {place, part, &run}});
    }
  }
  for (const auto& [place, mark] : by_place) marks_.push_back(mark);
}

std::string host_prefix(int host) {
  return host < 0 ? std::string() : "H" + std::to_string(host) + " ";
}

}  // namespace belfry::sim
