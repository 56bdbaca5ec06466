// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/host_accesses.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace belfry::sim::watch {

/// The blocks that the program has allocated last. Allocates nothing while blocks are added: the
/// caller is an allocation.
class RecentBlocks {
 public:
  static constexpr std::size_t kMost = 4096;

  void add(const void* block, std::size_t bytes) {
    const auto* const low = static_cast<const char*>(block);
    blocks_[added_++ % kMost] = {low, low + bytes};
  }
  /// The number of blocks so far.
  std::uint64_t added() const { return added_; }
  /// Whether `address` is in a block that came after the first `before` blocks.
  bool has(std::uintptr_t address, std::uint64_t before) const {
    const std::uint64_t oldest = added_ > kMost ? added_ - kMost : 0;
    for (std::uint64_t i = added_; i > before && i > oldest; --i) {
      if (is_in(address, blocks_[(i - 1) % kMost])) return true;
    }
    return false;
  }
  /// The latest block with `address`, and all later blocks; nothing if there is none.
  std::vector<belfry::detail::MemoryRange> since(const void* address) const {
    const std::uint64_t newest = added_;  // The result is allocated, too.
    const std::uint64_t oldest = newest > kMost / 2 ? newest - kMost / 2 : 0;
    std::uint64_t first = newest;
    while (first > oldest && !is_in(number(address), blocks_[(first - 1) % kMost])) --first;
    if (first == oldest) return {};
    std::vector<belfry::detail::MemoryRange> blocks;
    for (std::uint64_t i = first - 1; i < newest; ++i) blocks.push_back(blocks_[i % kMost]);
    return blocks;
  }
  static bool is_in(std::uintptr_t address, const belfry::detail::MemoryRange& block) {
    return address - number(block.low) < number(block.high) - number(block.low);
  }

 private:
  static std::uintptr_t number(const void* address) {
    return reinterpret_cast<std::uintptr_t>(address);
  }

  std::array<belfry::detail::MemoryRange, kMost> blocks_{};
  std::uint64_t added_ = 0;
};

}  // namespace belfry::sim::watch
