// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/device_memory.h"

#include "belfry/backend/unwatched.h"
#include "belfry/error.h"
#include "engine/queue_history.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace belfry::engine {
namespace {

// The address space of a program on a processor of 48-bit addresses. Bytes without memory until
// their first write would otherwise never be refused.
constexpr std::size_t kAddressSpace = std::size_t{1} << 47;

[[noreturn]] void throw_out_of_memory(const MemoryOptions& options, const MemoryUse& use,
                                      std::size_t bytes, CallSite site) {
  const std::string where =
      options.device < 0 ? "the host" : "device " + std::to_string(options.device);
  std::string summary = "out of memory on " + where + ": " + std::to_string(bytes) +
                        " bytes asked for, " + std::to_string(use.live_bytes) + " in use by " +
                        std::to_string(use.live_buffers) + " buffers";
  std::string hint = "free tensors, or use smaller ones";
  if (use.limit_bytes != 0) {
    summary += ", limit " + std::to_string(use.limit_bytes);
    hint = use.live_bytes == 0 ? "use a smaller tensor, or raise memory_limit_bytes"
                               : "free tensors, use smaller ones, or raise memory_limit_bytes";
  }
  throw DeviceError(ErrorCode::kOutOfMemory, std::move(summary), std::move(hint), site);
}

}  // namespace

std::shared_ptr<DeviceMemory> DeviceMemory::create(MemoryOptions options) {
  return std::shared_ptr<DeviceMemory>(new DeviceMemory(std::move(options)));
}

DeviceMemory::DeviceMemory(MemoryOptions options)
    : options_(std::move(options)), pool_(static_cast<std::uint64_t>(options_.device + 1)) {
  check(!options_.share_copies || (!options_.poison && options_.addresses == nullptr),
        "bytes that are shared have no fixed place");
  use_.limit_bytes = options_.limit_bytes;
}

AllocationPtr DeviceMemory::allocate(std::size_t bytes, CallSite site) {
  const std::uint64_t number = enter(bytes, site);
  try {
    auto allocation = std::make_shared<Allocation>(shared_from_this(), bytes, number);
    if (options_.addresses != nullptr) options_.addresses->insert(allocation);
    return allocation;
  } catch (const std::bad_alloc&) {
    leave(number);
    refuse(bytes, site);
  }
}

AllocationPtr DeviceMemory::adopt(std::byte* foreign, std::size_t bytes,
                                  ForeignOwners::Ended ended) {
  auto storage = std::make_shared<Storage>(foreign, std::move(ended));
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = next_number_++;
  }
  return std::make_shared<Allocation>(shared_from_this(), bytes, number, std::move(storage));
}

MemoryUse DeviceMemory::use() const {
  const std::lock_guard lock(mutex_);
  return use_;
}

std::vector<LiveAllocation> DeviceMemory::live() const {
  const std::lock_guard lock(mutex_);
  std::vector<LiveAllocation> result;
  result.reserve(live_.size());
  for (const auto& [number, bytes] : live_) result.push_back({options_.device, number, bytes});
  return result;
}

std::uint64_t DeviceMemory::enter(std::size_t bytes, CallSite site) {
  const std::lock_guard lock(mutex_);
  const std::size_t most =
      use_.limit_bytes == 0 ? kAddressSpace : std::min(use_.limit_bytes, kAddressSpace);
  if (bytes > most - use_.live_bytes) throw_out_of_memory(options_, use_, bytes, site);
  live_.emplace(next_number_, bytes);
  use_.live_bytes += bytes;
  use_.peak_bytes = std::max(use_.peak_bytes, use_.live_bytes);
  use_.live_buffers = live_.size();
  return next_number_++;
}

void DeviceMemory::leave(std::uint64_t number) noexcept {
  const std::lock_guard lock(mutex_);
  const auto at = live_.find(number);
  if (at == live_.end()) return;
  use_.live_bytes -= at->second;
  live_.erase(at);
  use_.live_buffers = live_.size();
}

void DeviceMemory::retire(const Allocation& allocation) {
  if (options_.addresses != nullptr) options_.addresses->erase(allocation);
  leave(allocation.number());
}

void DeviceMemory::refuse(std::size_t bytes, CallSite site) const {
  const std::lock_guard lock(mutex_);
  throw_out_of_memory(options_, use_, bytes, site);
}

// ThreadSanitizer forgets the accesses to memory that is freed and allocated unwatched. Two buffers
// have no common bytes for their users, also if they have for the pool.
Block DeviceMemory::take(std::size_t bytes) {
  const detail::Unwatched unwatched;
  const auto taken = [&] {
    try {
      return pool_.take(bytes);
    } catch (const std::bad_alloc&) {
      pool_.trim();
    }
    return pool_.take(bytes);
  };
  const Block block = taken();
  if (options_.poison && bytes != 0) std::memset(block.data, kFreshPoison, bytes);
  return block;
}

void DeviceMemory::release(const Block& block, std::size_t bytes) noexcept {
  const detail::Unwatched unwatched;
  if (options_.poison && bytes != 0) std::memset(block.data, kFreedPoison, bytes);
  if constexpr (kTsan) return BlockPool::drop(block);
  pool_.give(block);
}

}  // namespace belfry::engine
