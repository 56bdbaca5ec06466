// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace belfry::engine {

/// Memory of at least the size asked for, aligned to 64 bytes.
struct Block {
  std::byte* data = nullptr;
  std::size_t capacity = 0;
  std::byte* origin = nullptr;  ///< The memory from the system; `data` is an aligned place inside.
};

/// Hands out blocks and keeps returned blocks by size class: in steady state no page is touched for
/// the first time. Blocks start at different offsets within their pages, for equally placed blocks
/// fall into the same cache sets: a reduction over eight equally placed blocks takes up to three
/// times as long. May be used by several threads.
class BlockPool {
 public:
  /// `salt` differs between the pools of different devices, and staggers their blocks too.
  explicit BlockPool(std::uint64_t salt = 0) : salt_(salt) {}
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;
  ~BlockPool();

  /// Throws: std::bad_alloc.
  Block take(std::size_t bytes);
  void give(Block block) noexcept;
  /// Returns a block of a pool to the system at once.
  static void drop(const Block& block) noexcept;
  /// Returns all blocks that are not handed out to the system.
  void trim() noexcept;

 private:
  std::mutex mutex_;
  std::uint64_t salt_;
  std::uint64_t made_ = 0;
  std::map<std::size_t, std::vector<Block>> free_;
};

}  // namespace belfry::engine
