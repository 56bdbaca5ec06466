// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"

#include <cstddef>

namespace belfry::detail {

/// Learns of the library's accesses to memory of the user on a replica's behalf: handles of tensors
/// that a verb reads or replaces, and host memory that elements are copied from or to. The library
/// is compiled without instrumentation; code of the user reports its own accesses.
class HostAccesses {
 public:
  virtual ~HostAccesses() = default;
  /// The calling replica or merge has accessed, or is about to access, `bytes` bytes at `memory`.
  virtual void touched(const void* memory, std::size_t bytes, bool writes,
                       const CallSite& site) noexcept = 0;
  /// The calling replica or merge is about to ask for the number of owners of the object of the
  /// std::shared_ptr at `pointer`. Other replicas may change the number.
  virtual void asks_for_owners(const void* pointer) noexcept = 0;
  /// The body of a user's kernel begins on the calling thread; its accesses are the kernel's.
  virtual void kernel_begins() noexcept = 0;
  /// The body has ended.
  virtual void kernel_ended() noexcept = 0;
};

/// Null unless the program watches host memory. Set before main, never changed later.
extern constinit HostAccesses* host_accesses;

/// Tells the watcher of the program, if there is one.
inline void touched(const void* memory, std::size_t bytes, bool writes, const CallSite& site) {
  if (host_accesses != nullptr) [[unlikely]]
    host_accesses->touched(memory, bytes, writes, site);
}

/// The bytes [low, high) of memory.
struct MemoryRange {
  const char* low = nullptr;   ///< The first byte.
  const char* high = nullptr;  ///< The byte after the last.
};

/// The stack of a fiber that contains `address`, or an empty range.
MemoryRange stack_around(const void* address);
/// The least range that contains the stacks of all fibers that ever ran.
MemoryRange all_stacks();

}  // namespace belfry::detail
