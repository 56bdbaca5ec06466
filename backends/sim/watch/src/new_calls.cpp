// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "watched_call.h"

#include <cstddef>
#include <cstdlib>
#include <new>

// Allocations by watched code: an audit looks at the blocks.
namespace {

void* own(void* block, std::size_t bytes) {
  using belfry::sim::watch::host_watcher;
  if (belfry_watch_active != 0 && block != nullptr) host_watcher().audit().made(block, bytes);
  return block;
}

}  // namespace

extern "C" {

#define BELFRY_NEW(name, linkers, operation)                                       \
  void* watched_##name(std::size_t) BELFRY_STANDS_FOR(linkers);                    \
  void* watched_##name(std::size_t bytes) { return own(operation(bytes), bytes); } \
  void* watched_aligned_##name(std::size_t, std::align_val_t)                      \
      BELFRY_STANDS_FOR(linkers "St11align_val_t");                                \
  void* watched_aligned_##name(std::size_t bytes, std::align_val_t alignment) {    \
    return own(operation(bytes, alignment), bytes);                                \
  }
BELFRY_NEW(new, "_Znwm", ::operator new)
BELFRY_NEW(new_of_array, "_Znam", ::operator new[])
#undef BELFRY_NEW

void* watched_malloc(std::size_t) BELFRY_STANDS_FOR("malloc");
void* watched_malloc(std::size_t bytes) { return own(std::malloc(bytes), bytes); }
void* watched_calloc(std::size_t, std::size_t) BELFRY_STANDS_FOR("calloc");
void* watched_calloc(std::size_t count, std::size_t bytes) {
  return own(std::calloc(count, bytes), count * bytes);
}

}  // extern "C"
