// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "watch/host_watch.h"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

/// The outcome of a row of the table.
struct Row {
  std::string seen;
  std::string expected;
};

/// A function for two replicas, called once for each phase and replica, replica 0 first.
using Body = std::function<void(std::size_t replica, int phase)>;

/// Runs `body` for two replicas in `phases` phases, watched. `merge` runs after each phase. The
/// calls of the watch are the calls of a backend.
belfry::sim::watch::HostReport watched(int phases, const Body& body,
                                       const std::function<void()>& merge = {});

/// The report as a text: conflicts (`a.cpp:5 write, a.cpp:5 read`), notes of merges (`merge: ...`),
/// then single words.
std::string text(const belfry::sim::watch::HostReport& report);
/// The lines with a conflict of the line with itself. Compilers differ in the accesses that a
/// container makes.
std::string lines(const belfry::sim::watch::HostReport& report);
/// `a conflict` or `nothing`. Builds differ in the number of pairs of places.
std::string whether(const belfry::sim::watch::HostReport& report);

/// The same texts, from lines of the file `file`.
std::string wrote(const char* file, int line);
std::string did_read(const char* file, int line);
std::string at_line(const char* file, int line);

/// A row by its name.
struct Case {
  const char* name;
  Row (*run)();
};

std::vector<Case> memory_cases();
std::vector<Case> owner_cases();
std::vector<Case> call_cases();
std::vector<Case> pointer_cases();
std::vector<Case> language_cases();
std::vector<Case> exception_cases();
std::vector<Case> container_cases();
std::vector<Case> stream_cases();
std::vector<Case> tensor_cases();
