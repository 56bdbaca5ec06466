// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "host_watcher.h"

#include <malloc.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>

// The functions that hand memory out, for the whole program: a block that one replica gave back and
// a second replica gets is a new object. The C library's own functions do the work.
extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* block, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
}

namespace {

// A block may have more bytes than were asked for: the end of an earlier block has left marks.
[[gnu::always_inline]] inline void* fresh(void* block) {
  using belfry::sim::watch::host_watcher;
  if (block != nullptr && belfry_watch_active != 0) {
    host_watcher().forget(block, ::malloc_usable_size(block));
  }
  return block;
}

}  // namespace

extern "C" {

void* malloc(std::size_t bytes) noexcept { return fresh(__libc_malloc(bytes)); }

void* calloc(std::size_t count, std::size_t bytes) noexcept {
  return fresh(__libc_calloc(count, bytes));
}

// Of code that is not watched: the block is the caller's.
void* realloc(void* block, std::size_t bytes) noexcept {
  return fresh(__libc_realloc(block, bytes));
}

void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  return fresh(__libc_memalign(alignment, bytes));
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return fresh(__libc_memalign(alignment, bytes));
}

int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) noexcept {
  void* const made = fresh(__libc_memalign(alignment, bytes));
  if (made == nullptr) return ENOMEM;
  *block = made;
  return 0;
}

}  // extern "C"

namespace belfry::sim::watch {

// A reference to this file: a linker takes the file from the archive only if the name is needed.
extern const int kAllocationCalls = 0;

}  // namespace belfry::sim::watch
