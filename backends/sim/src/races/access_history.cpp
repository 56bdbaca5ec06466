// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "races/access_history.h"

#include <algorithm>
#include <tuple>

namespace belfry::sim::races {
namespace {

bool overlap(const BufferAccess& a, const BufferAccess& b) {
  return a.begin < b.end && b.begin < a.end;
}

// Whether `earlier` comes before `later` in every schedule. A step of a host agent also comes
// before all later phases.
bool precedes(const BufferAccess& earlier, const BufferAccess& later, const Clock& before) {
  if (earlier.lane == later.lane) return true;
  if (before.at(earlier.lane) >= earlier.number) return true;
  return earlier.kind != BufferAccess::Kind::kItem && earlier.phase < later.phase;
}

auto key(const BufferAccess& read) { return std::tuple(read.lane, read.begin, read.end); }

// Pairs of host accesses are a matter of the watch of host memory.
bool are_of_hosts(const BufferAccess& a, const BufferAccess& b) {
  return a.kind == BufferAccess::Kind::kHost && b.kind == BufferAccess::Kind::kHost;
}

bool replaces(const BufferAccess& later, const BufferAccess& earlier) {
  return later.writes && later.begin <= earlier.begin && earlier.end <= later.end;
}

}  // namespace

void AccessHistory::add(const BufferAccess& access, const Clock& before, const Report& report) {
  if (access.begin == access.end) return;
  compare_with_writes(access, before, report);
  if (access.writes) compare_with_reads(access, before, report);
  if (access.writes) {
    writes_.push_back(access);
  } else {
    const auto at = std::ranges::lower_bound(reads_, key(access), {}, key);
    if (at != reads_.end() && key(*at) == key(access)) {
      *at = access;
    } else {
      reads_.insert(at, access);
    }
  }
}

void AccessHistory::forget(const Clock& known) {
  const auto is_known = [&](const BufferAccess& access) {
    return known.at(access.lane) >= access.number;
  };
  std::erase_if(writes_, is_known);
  std::erase_if(reads_, is_known);
}

void AccessHistory::compare_with_writes(const BufferAccess& access, const Clock& before,
                                        const Report& report) {
  std::erase_if(writes_, [&](const BufferAccess& earlier) {
    if (!overlap(earlier, access)) return false;
    if (precedes(earlier, access, before)) return replaces(access, earlier);
    if (!are_of_hosts(earlier, access)) report(earlier, access);
    return false;
  });
}

void AccessHistory::compare_with_reads(const BufferAccess& access, const Clock& before,
                                       const Report& report) {
  std::erase_if(reads_, [&](const BufferAccess& earlier) {
    if (!overlap(earlier, access)) return false;
    if (precedes(earlier, access, before)) return replaces(access, earlier);
    if (!are_of_hosts(earlier, access)) report(earlier, access);
    return false;
  });
}

}  // namespace belfry::sim::races
