// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host_watcher.h"

/// Declares that the function stands for `name` in watched objects: belfry_watch() renames the
/// calls.
#define BELFRY_STANDS_FOR(name) __asm__("belfry_watch." name)
#define BELFRY_HERE __builtin_return_address(0)

namespace belfry::sim::watch {

/// The addresses of the last accesses of watched code: clang reports an access again.
[[gnu::visibility("hidden")]] extern const void* last_read;
[[gnu::visibility("hidden")]] extern const void* last_written;

inline void reads(const void* at, std::size_t bytes, const void* pc) {
  if (belfry_watch_counts != 0) host_watcher().access(at, bytes, {.writes = false, .pc = pc});
}
inline void writes(const void* at, std::size_t bytes, const void* pc) {
  if (belfry_watch_counts != 0) host_watcher().access(at, bytes, {.writes = true, .pc = pc});
}

}  // namespace belfry::sim::watch
