// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The caller of the replicas. The file is not watched, as a backend is not.
#include "replicas.h"

#include <cstring>

namespace watch = belfry::sim::watch;

namespace {

belfry::sim::Actor replica(int id) { return {{belfry::AgentId::Kind::kReplica, id}, 1, 0}; }

std::string text_of(const watch::HostConflict& conflict) {
  const auto side = [](const watch::HostAccess& access) {
    return watch::source_line(access) + (access.write ? " write" : " read");
  };
  return side(conflict.first) + ", " + side(conflict.second);
}

void add(std::string& all, const std::string& part) { all += (all.empty() ? "" : "; ") + part; }

}  // namespace

std::string at_line(const char* file, int line) {
  const char* const slash = std::strrchr(file, '/');
  return std::string(slash == nullptr ? file : slash + 1) + ':' + std::to_string(line);
}
std::string wrote(const char* file, int line) { return at_line(file, line) + " write"; }
std::string did_read(const char* file, int line) { return at_line(file, line) + " read"; }

watch::HostReport watched(int phases, const Body& body, const std::function<void()>& merge) {
  watch::start();
  watch::begin_phase();
  for (int phase = 0; phase < phases; ++phase) {
    for (int id = 0; id < 2; ++id) {
      watch::enter(replica(id));
      body(static_cast<std::size_t>(id), phase);
      watch::leave();
    }
    watch::begin_phase();
    if (merge) {
      watch::enter({{belfry::AgentId::Kind::kMerge, 0}, 1, 0});
      merge();
      watch::leave();
      watch::begin_phase();
    }
  }
  return watch::stop();
}

std::string whether(const watch::HostReport& report) {
  return report.conflicts.empty() ? "nothing" : "a conflict";
}

std::string text(const watch::HostReport& report) {
  std::string all;
  for (const auto& conflict : report.conflicts) add(all, text_of(conflict));
  for (const auto& note : report.single_writer_reads_in_merges) {
    add(all, "merge: " + text_of(note));
  }
  if (report.used_atomics) add(all, "atomics");
  if (report.used_locks) add(all, "locks");
  if (report.shared_last_owner) add(all, "last owner");
  for (const std::string& name : report.unseen) add(all, "unseen " + name);
  return all;
}

std::string lines(const watch::HostReport& report) {
  std::string all;
  for (const auto& conflict : report.conflicts) {
    const std::string line = watch::source_line(conflict.first);
    if (line == watch::source_line(conflict.second)) add(all, line);
  }
  for (const std::string& name : report.unseen) add(all, "unseen " + name);
  return all;
}
