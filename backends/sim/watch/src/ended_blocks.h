// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

extern "C" void __libc_free(void* block);

namespace belfry::sim::watch {

/// Blocks of memory that replicas have ended in the present phase. A replica that still uses one of
/// the last blocks finds the bytes as they were. Allocates nothing.
class EndedBlocks {
 public:
  static constexpr std::size_t kMost = 1024;
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20;  // Of a block.

  /// Keeps `block`. Returns a block that is kept no longer, or null.
  void* add(void* block, std::size_t bytes) {
    if (bytes > kMostBytes) return block;
    void*& place = blocks_[added_++ % kMost];
    void* const oldest = place;
    place = block;
    return oldest;
  }
  /// Gives all blocks back to the C library.
  void give_back() {
    if (added_ == 0) return;
    for (void*& block : blocks_) {
      __libc_free(block);
      block = nullptr;
    }
    added_ = 0;
  }

 private:
  std::array<void*, kMost> blocks_{};
  std::size_t added_ = 0;
};

}  // namespace belfry::sim::watch
