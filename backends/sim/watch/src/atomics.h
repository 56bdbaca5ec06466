// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "watched_call.h"

// Atomic operations in code compiled with -fsanitize=thread. Every operation is carried out with
// the strongest order of memory: schedules of replicas have no weaker one.
namespace belfry::sim::watch {

[[gnu::always_inline]] inline void touch(const volatile void* at, std::size_t bytes, bool writes,
                                         const void* pc) {
  if (belfry_watch_counts == 0) {
    if (belfry_watch_active != 0) host_watcher().note_thread();
    return;
  }
  last_read = last_written = const_cast<const void*>(at);
  host_watcher().access(const_cast<const void*>(at), bytes,
                        {.writes = writes, .pc = pc, .maker = Maker::kAtomic});
}

}  // namespace belfry::sim::watch
