// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "pinned_memory.h"

#include "check.h"

#include <cuda_runtime.h>

#include <utility>

namespace belfry::cuda {
namespace {

// CUDA pins whole pages.
constexpr std::size_t kPage = 4096;
// A block serves a request of at least a quarter of its size, unless the block is small.
constexpr std::size_t kMostWaste = 4;
constexpr std::size_t kSmall = 16 * kPage;

}  // namespace

PinnedMemory::~PinnedMemory() { release_spare(); }

void* PinnedMemory::take(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto spare = spare_.lower_bound(bytes);
  if (spare != spare_.end() && (spare->first <= kSmall || spare->first / kMostWaste <= bytes)) {
    void* const block = spare->second;
    auto& place = taken_[block];
    place = spare_.extract(spare);
    return block;
  }
  const std::size_t size = (bytes + kPage - 1) / kPage * kPage;
  void* block = nullptr;
  cudaError_t code = cudaHostAlloc(&block, size, cudaHostAllocPortable);
  if (code == cudaErrorMemoryAllocation && !spare_.empty()) {
    ignore_failure(code);
    release_spare();
    code = cudaHostAlloc(&block, size, cudaHostAllocPortable);
  }
  check_call(code, "cudaHostAlloc(&block, size, cudaHostAllocPortable)", {__FILE__, __LINE__});
  try {
    std::multimap<std::size_t, void*> made;
    const auto place = made.emplace(size, block);
    taken_[block] = made.extract(place);
  } catch (...) {
    ignore_failure(cudaFreeHost(block));
    throw;
  }
  return block;
}

// Moves the node of the block, so that nothing can fail.
void PinnedMemory::give(void* block) noexcept {
  if (block == nullptr) return;
  const std::lock_guard lock(mutex_);
  const auto taken = taken_.find(block);
  spare_.insert(std::move(taken->second));
  taken_.erase(taken);
}

void PinnedMemory::release_spare() noexcept {
  for (const auto& [size, block] : spare_) ignore_failure(cudaFreeHost(block));
  spare_.clear();
}

}  // namespace belfry::cuda
