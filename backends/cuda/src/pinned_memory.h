// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

namespace belfry::cuda {

/// Pinned memory of the host, which kernels of every GPU may use. Blocks that were given back serve
/// later requests: CUDA takes long to pin memory, and a release would wait for the GPUs. The
/// destructor releases all blocks. May be used by several threads.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  /// All blocks have been given back.
  ~PinnedMemory();

  /// A block of at least `bytes`; null for 0 bytes. Throws: DeviceError (kOutOfMemory);
  /// std::bad_alloc.
  void* take(std::size_t bytes);
  /// Takes back a block, or null. All work with the block is done.
  void give(void* block) noexcept;

 private:
  void release_spare() noexcept;

  std::mutex mutex_;                         // for all below
  std::multimap<std::size_t, void*> spare_;  // by size
  std::map<void*, std::multimap<std::size_t, void*>::node_type> taken_;
};

}  // namespace belfry::cuda
