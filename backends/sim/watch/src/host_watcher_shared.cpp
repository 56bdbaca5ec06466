// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Memory of the program that devices use, too. The order of host code and devices is known to the
// detector of races: the watcher keeps the accesses of all host code, also outside runs, until the
// detector asks. Devices may use such memory while any function runs: calls of unwatched functions
// are noted outside of replicas, too.
#include "host_watcher.h"

namespace belfry::sim::watch {

bool HostWatcher::share(const std::byte* memory, std::size_t bytes, const Actor& actor) {
  if (belfry_watch_active == 0 || note_thread()) return false;
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  shared_.add({begin, begin + bytes});
  if (mode_ == Mode::kIdle) {
    enter(actor, __builtin_frame_address(0));
  } else {
    belfry_watch_inside = 1;
  }
  return true;
}

void HostWatcher::note_shared(std::uintptr_t at, std::size_t bytes, const Access& access) {
  if (!shared_.has({at, at + bytes})) return;
  if (note_thread()) return;
  shared_.touch({actor_, access.writes, place_of(access)}, {at, at + bytes});
}

void HostWatcher::enter_host() {
  if (shared_.empty()) return;
  on_fiber_ = false;
  stack_bytes_ = 0;
  mode_ = Mode::kHost;
  belfry_watch_inside = belfry_watch_counts = 1;
}

std::vector<SharedAccess> HostWatcher::take_shared() {
  std::vector<SharedAccess> taken;
  for (const SharedMemory::Touch& touch : shared_.take()) {
    taken.push_back({resolved(touch.access), reinterpret_cast<const std::byte*>(touch.range.begin),
                     touch.range.end - touch.range.begin});
  }
  return taken;
}

}  // namespace belfry::sim::watch
