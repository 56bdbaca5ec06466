// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "watched_call.h"

#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

// The end of a block of memory in watched code: a use of the block by a second replica has no order
// with the end. Libraries end blocks of their own by calls that are not watched.
namespace {

using belfry::sim::watch::host_watcher;

// The place of the release that goes on; null outside of releases in watched code. Code of second
// threads is noted, and its releases do not count.
constinit const void* releasing = nullptr;

template <class Release>
void release(void* block, const void* pc, const Release& call) {
  if (belfry_watch_inside == 0 || block == nullptr || host_watcher().note_thread()) {
    return call();
  }
  releasing = pc;
  call();
  releasing = nullptr;
}

}  // namespace

extern "C" {

// For the whole program: whether a block of `operator delete` is a block of malloc, and its size,
// are known here alone.
void free(void* block) noexcept {
  if (belfry_watch_active != 0) host_watcher().audit().ended(block);
  if (releasing != nullptr && block != nullptr && !host_watcher().note_thread()) {
    // The watch may end blocks of its own meanwhile: these are no releases of watched code.
    const void* const pc = std::exchange(releasing, nullptr);
    block = host_watcher().release(block, ::malloc_usable_size(block), pc);
  }
  __libc_free(block);
}

void watched_free(void*) BELFRY_STANDS_FOR("free");
void watched_free(void* block) {
  release(block, BELFRY_HERE, [=] { std::free(block); });
}
void watched_delete(void*) BELFRY_STANDS_FOR("_ZdlPv");
void watched_delete(void* block) {
  release(block, BELFRY_HERE, [=] { ::operator delete(block); });
}
void watched_delete_sized(void*, std::size_t) BELFRY_STANDS_FOR("_ZdlPvm");
void watched_delete_sized(void* block, std::size_t bytes) {
  release(block, BELFRY_HERE, [=] { ::operator delete(block, bytes); });
}
void watched_delete_aligned(void*, std::align_val_t) BELFRY_STANDS_FOR("_ZdlPvSt11align_val_t");
void watched_delete_aligned(void* block, std::align_val_t alignment) {
  release(block, BELFRY_HERE, [=] { ::operator delete(block, alignment); });
}
void watched_delete_both(void*, std::size_t, std::align_val_t)
    BELFRY_STANDS_FOR("_ZdlPvmSt11align_val_t");
void watched_delete_both(void* block, std::size_t bytes, std::align_val_t alignment) {
  release(block, BELFRY_HERE, [=] { ::operator delete(block, bytes, alignment); });
}
void watched_delete_nothrow(void*, const std::nothrow_t&) BELFRY_STANDS_FOR("_ZdlPvRKSt9nothrow_t");
void watched_delete_nothrow(void* block, const std::nothrow_t&) {
  release(block, BELFRY_HERE, [=] { ::operator delete(block, std::nothrow); });
}
void watched_delete_aligned_nothrow(void*, std::align_val_t, const std::nothrow_t&)
    BELFRY_STANDS_FOR("_ZdlPvSt11align_val_tRKSt9nothrow_t");
void watched_delete_aligned_nothrow(void* block, std::align_val_t alignment,
                                    const std::nothrow_t&) {
  release(block, BELFRY_HERE, [=] { ::operator delete(block, alignment, std::nothrow); });
}
void watched_delete_array(void*) BELFRY_STANDS_FOR("_ZdaPv");
void watched_delete_array(void* block) {
  release(block, BELFRY_HERE, [=] { ::operator delete[](block); });
}
void watched_delete_array_sized(void*, std::size_t) BELFRY_STANDS_FOR("_ZdaPvm");
void watched_delete_array_sized(void* block, std::size_t bytes) {
  release(block, BELFRY_HERE, [=] { ::operator delete[](block, bytes); });
}

void watched_delete_array_aligned(void*, std::align_val_t)
    BELFRY_STANDS_FOR("_ZdaPvSt11align_val_t");
void watched_delete_array_aligned(void* block, std::align_val_t alignment) {
  release(block, BELFRY_HERE, [=] { ::operator delete[](block, alignment); });
}
void watched_delete_array_both(void*, std::size_t, std::align_val_t)
    BELFRY_STANDS_FOR("_ZdaPvmSt11align_val_t");
void watched_delete_array_both(void* block, std::size_t bytes, std::align_val_t alignment) {
  release(block, BELFRY_HERE, [=] { ::operator delete[](block, bytes, alignment); });
}
void watched_delete_array_nothrow(void*, const std::nothrow_t&)
    BELFRY_STANDS_FOR("_ZdaPvRKSt9nothrow_t");
void watched_delete_array_nothrow(void* block, const std::nothrow_t&) {
  release(block, BELFRY_HERE, [=] { ::operator delete[](block, std::nothrow); });
}
void watched_delete_array_aligned_nothrow(void*, std::align_val_t, const std::nothrow_t&)
    BELFRY_STANDS_FOR("_ZdaPvSt11align_val_tRKSt9nothrow_t");
void watched_delete_array_aligned_nothrow(void* block, std::align_val_t alignment,
                                          const std::nothrow_t&) {
  release(block, BELFRY_HERE, [=] { ::operator delete[](block, alignment, std::nothrow); });
}

// In a replica to a new block in all cases: nobody may use the earlier block.
void* watched_realloc(void*, std::size_t) BELFRY_STANDS_FOR("realloc");
void* watched_realloc(void* block, std::size_t bytes) {
  if (belfry_watch_inside == 0 || block == nullptr || host_watcher().note_thread()) {
    return std::realloc(block, bytes);
  }
  void* const fresh = bytes == 0 ? nullptr : std::malloc(bytes);
  if (fresh == nullptr && bytes != 0) return nullptr;
  const std::size_t kept = std::min(bytes, ::malloc_usable_size(block));
  if (kept != 0) std::memcpy(fresh, block, kept);
  release(block, BELFRY_HERE, [=] { std::free(block); });
  return fresh;
}

}  // extern "C"
