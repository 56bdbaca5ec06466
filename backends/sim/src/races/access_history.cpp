// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "races/access_history.h"

#include <algorithm>
#include <tuple>
#include <vector>

namespace belfry::sim::races {
namespace {

// Whether `earlier` comes before `later` in every schedule. A step of a host agent also comes
// before all later phases.
bool precedes(const BufferAccess& earlier, const BufferAccess& later, const Clock& before) {
  if (earlier.lane == later.lane) return true;
  if (before.at(earlier.lane) >= earlier.number) return true;
  return earlier.kind != BufferAccess::Kind::kItem && earlier.phase < later.phase;
}

// Pairs of host accesses are a matter of the watch of host memory.
bool are_of_hosts(const BufferAccess& a, const BufferAccess& b) {
  return a.kind == BufferAccess::Kind::kHost && b.kind == BufferAccess::Kind::kHost;
}

bool replaces(const BufferAccess& later, const BufferAccess& earlier) {
  return later.writes && later.begin <= earlier.begin && earlier.end <= later.end;
}

using Entry = RangedAccesses::Entry;

// Compares with the earlier accesses to the same bytes, forgets those before a write of their
// bytes, and returns the accesses in conflict.
std::vector<Entry> conflicts_with(RangedAccesses& earlier, const BufferAccess& access,
                                  const Clock& before) {
  std::vector<Entry> conflicts;
  earlier.visit_overlapping(access, [&](const Entry& one) {
    if (precedes(one.access, access, before)) return replaces(access, one.access);
    if (!are_of_hosts(one.access, access)) conflicts.push_back(one);
    return false;
  });
  return conflicts;
}

}  // namespace

void AccessHistory::add(const BufferAccess& access, const Clock& before, const Report& report) {
  if (access.begin == access.end) return;
  std::vector<Entry> conflicts = conflicts_with(writes_, access, before);
  std::ranges::sort(conflicts, {}, &Entry::age);
  for (const Entry& one : conflicts) report(one.access, access);
  if (!access.writes) return reads_.put(access, true);
  conflicts = conflicts_with(reads_, access, before);
  std::ranges::sort(conflicts, {}, [](const Entry& one) {
    return std::tuple(one.access.lane, one.access.begin, one.access.end);
  });
  for (const Entry& one : conflicts) report(one.access, access);
  writes_.put(access, false);
}

void AccessHistory::forget(const Clock& known) {
  const auto is_known = [&](const BufferAccess& access) {
    return known.at(access.lane) >= access.number;
  };
  writes_.remove_if(is_known);
  reads_.remove_if(is_known);
}

}  // namespace belfry::sim::races
