// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "long_vectors.h"
#include "watched_call.h"

#include <cstdint>
#include <cstring>
#include <utility>

namespace belfry::sim::watch {
constinit const void* last_read = nullptr;
constinit const void* last_written = nullptr;
}  // namespace belfry::sim::watch

// The functions that compilers call in code compiled with -fsanitize=thread. The names are the
// compilers'.
namespace {

using belfry::sim::watch::are_there_long_vectors;
using belfry::sim::watch::host_watcher;
using belfry::sim::watch::last_read;
using belfry::sim::watch::last_written;
using belfry::sim::watch::note_long_vector;

[[gnu::always_inline]] inline void read(const void* at, std::size_t bytes, const void* pc) {
  if (belfry_watch_counts == 0) return;
  last_read = at;
  host_watcher().access(at, bytes, {.writes = false, .pc = pc});
}

[[gnu::always_inline]] inline void write(const void* at, std::size_t bytes, const void* pc) {
  if (belfry_watch_counts == 0) return;
  last_written = at;
  host_watcher().access(at, bytes, {.writes = true, .pc = pc});
}

// The next report of an access that may have had a report.
[[gnu::always_inline]] inline void read_unless_known(const void* at, const void* pc) {
  if (belfry_watch_counts == 0) return;
  if (are_there_long_vectors) [[unlikely]]
    note_long_vector(pc);
  if (std::exchange(last_read, nullptr) == at) return;
  host_watcher().access(at, 1, {.writes = false, .pc = pc});
}

[[gnu::always_inline]] inline void write_unless_known(const void* at, const void* pc) {
  if (belfry_watch_counts == 0) return;
  if (are_there_long_vectors) [[unlikely]]
    note_long_vector(pc);
  if (std::exchange(last_written, nullptr) == at) return;
  host_watcher().access(at, 1, {.writes = true, .pc = pc});
  constexpr std::size_t kMost = 64;  // The number of bytes is not known.
  host_watcher().audit().wrote(reinterpret_cast<std::uintptr_t>(at), kMost);
}

void ignore(bool begin) {
  if (belfry_watch_counts != 0) host_watcher().ignore(begin);
}

}  // namespace

#define BELFRY_ACCESS(name, what, bytes) \
  void __tsan_##name##bytes(void* at) { what(at, bytes, BELFRY_HERE); }
#define BELFRY_SIZES(name, what) \
  BELFRY_ACCESS(name, what, 1)   \
  BELFRY_ACCESS(name, what, 2)   \
  BELFRY_ACCESS(name, what, 4)   \
  BELFRY_ACCESS(name, what, 8)   \
  BELFRY_ACCESS(name, what, 16)

extern "C" {

BELFRY_SIZES(read, read)
BELFRY_SIZES(unaligned_read, read)
BELFRY_SIZES(volatile_read, read)
BELFRY_SIZES(unaligned_volatile_read, read)
BELFRY_SIZES(write, write)
BELFRY_SIZES(unaligned_write, write)
BELFRY_SIZES(volatile_write, write)
BELFRY_SIZES(unaligned_volatile_write, write)
BELFRY_SIZES(read_write, write)
BELFRY_SIZES(unaligned_read_write, write)

void __tsan_read_range(void* at, std::size_t bytes) { read(at, bytes, BELFRY_HERE); }
void __tsan_write_range(void* at, std::size_t bytes) { write(at, bytes, BELFRY_HERE); }

void __tsan_vptr_read(void** at) { read(at, sizeof *at, BELFRY_HERE); }
// A destructor stores the same pointer again unless a derived class has gone.
void __tsan_vptr_update(void** at, void* value) {
  if (*at != value) write(at, sizeof *at, BELFRY_HERE);
}

void __tsan_func_entry(void* return_address) {
  if (belfry_watch_counts != 0) {
    host_watcher().call(return_address);
  } else if (belfry_watch_active != 0) {
    host_watcher().note_thread();
  }
}
void __tsan_func_exit() {
  if (belfry_watch_counts != 0) host_watcher().return_from_call();
}

void* __tsan_memcpy(void* to, const void* from, std::size_t bytes) {
  read(from, bytes, BELFRY_HERE);
  write(to, bytes, BELFRY_HERE);
  return std::memcpy(to, from, bytes);
}
void* __tsan_memmove(void* to, const void* from, std::size_t bytes) {
  read(from, bytes, BELFRY_HERE);
  write(to, bytes, BELFRY_HERE);
  return std::memmove(to, from, bytes);
}
void* __tsan_memset(void* to, int value, std::size_t bytes) {
  write(to, bytes, BELFRY_HERE);
  return std::memset(to, value, bytes);
}

// clang alone: a second report of each access that -fsanitize=thread has reported, and the only one
// of accesses with unusual numbers of bytes, which have the first byte in common: bit-fields in 3,
// 5, 6 or 7 bytes, `long double`, long vectors.
void __memprof_load(void* at) { read_unless_known(at, BELFRY_HERE); }
void __memprof_store(void* at) { write_unless_known(at, BELFRY_HERE); }
void __memprof_init() {}
std::uintptr_t __memprof_shadow_memory_dynamic_address = 0;  // clang 14 reads the number.

void __tsan_ignore_thread_begin() { ignore(true); }
void __tsan_ignore_thread_end() { ignore(false); }
void AnnotateIgnoreReadsBegin(const char*, int) { ignore(true); }
void AnnotateIgnoreReadsEnd(const char*, int) { ignore(false); }
void AnnotateIgnoreWritesBegin(const char*, int) {}
void AnnotateIgnoreWritesEnd(const char*, int) {}

// Files of the target without -fsanitize=thread are not watched.
void plain_load(void*) BELFRY_STANDS_FOR("plain_load");
void plain_load(void*) {}
void plain_store(void*) BELFRY_STANDS_FOR("plain_store");
void plain_store(void*) {}
void plain_init() BELFRY_STANDS_FOR("plain_init");
void plain_init() {}
void* plain_memcpy(void*, const void*, std::size_t) BELFRY_STANDS_FOR("plain_memcpy");
void* plain_memcpy(void* to, const void* from, std::size_t bytes) {
  return std::memcpy(to, from, bytes);
}
void* plain_memmove(void*, const void*, std::size_t) BELFRY_STANDS_FOR("plain_memmove");
void* plain_memmove(void* to, const void* from, std::size_t bytes) {
  return std::memmove(to, from, bytes);
}
void* plain_memset(void*, int, std::size_t) BELFRY_STANDS_FOR("plain_memset");
void* plain_memset(void* to, int value, std::size_t bytes) { return std::memset(to, value, bytes); }

/// Called by each watched object before main.
void __tsan_init() {
  static bool is_attached = false;
  if (is_attached) return;
  is_attached = belfry::sim::watch::kAllocationCalls == 0 && belfry::sim::watch::kThreadCalls == 0;
  belfry::sim::watch::attach(host_watcher());
  belfry::detail::host_accesses = &host_watcher();
}

}  // extern "C"
