// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/block_pool.h"

#include <algorithm>
#include <bit>
#include <new>

namespace belfry::engine {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kSmallest = 64;
// Blocks below this size share pages anyway: a stagger would only waste pages.
constexpr std::size_t kStaggeredFrom = 4096;
constexpr std::size_t kStaggerSpan = std::size_t{64} << 10;
constexpr std::size_t kLarge = std::size_t{1} << 20;
constexpr std::size_t kLargeSpan = std::size_t{256} << 10;
// An odd number of cache lines visits every offset. Neighbours are 17 lines apart in the sets of a
// cache, and 8 KiB more. Without the 8 KiB, blocks a large power of two apart are in different rows
// of the same memory bank, and reads of both side by side took up to twice as long.
constexpr std::uint64_t kStaggerLines = 17 + 128;

// Four classes between a power of two and the next: at most a quarter is wasted.
std::size_t size_class(std::size_t bytes) {
  if (bytes <= kSmallest) return kSmallest;
  if (bytes > (SIZE_MAX >> 2)) throw std::bad_alloc();
  const std::size_t step = std::max(std::bit_floor(bytes - 1) / 4, kAlignment);
  return (bytes + step - 1) / step * step;
}

}  // namespace

void BlockPool::drop(const Block& block) noexcept {
  ::operator delete(block.origin, std::align_val_t{kAlignment});
}

BlockPool::~BlockPool() { trim(); }

Block BlockPool::take(std::size_t bytes) {
  const std::size_t capacity = size_class(bytes);
  const std::lock_guard lock(mutex_);
  auto& free = free_[capacity];
  if (!free.empty()) {
    const Block block = free.back();
    free.pop_back();
    return block;
  }
  const std::uint64_t lines = kStaggerLines * (salt_ + 1 + 5 * made_++);
  const std::size_t span = capacity >= kLarge ? kLargeSpan : kStaggerSpan;
  const std::size_t offset = capacity >= kStaggeredFrom ? lines * kAlignment % span : 0;
  auto* origin =
      static_cast<std::byte*>(::operator new(capacity + offset, std::align_val_t{kAlignment}));
  return {origin + offset, capacity, origin};
}

void BlockPool::give(Block block) noexcept {
  if (block.origin == nullptr) return;
  const std::lock_guard lock(mutex_);
  try {
    free_[block.capacity].push_back(block);
  } catch (const std::bad_alloc&) {
    drop(block);
  }
}

void BlockPool::trim() noexcept {
  const std::lock_guard lock(mutex_);
  for (auto& [capacity, blocks] : free_) {
    for (const Block& block : blocks) drop(block);
    blocks.clear();
  }
}

}  // namespace belfry::engine
