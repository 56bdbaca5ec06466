// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "device_state.h"

#include "belfry/error.h"
#include "check.h"
#include "current_gpu.h"
#include "peers.h"
#include "program_objects.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>
#include <string>

namespace belfry::cuda {
namespace {

cudaMemPool_t make_pool(int gpu) {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.handleTypes = cudaMemHandleTypeNone;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = gpu;
  cudaMemPool_t pool = nullptr;
  BELFRY_CUDA_TRY(cudaMemPoolCreate(&pool, &properties));
  return pool;
}

// Memory stays in the pool, because a release to the GPU would synchronize.
void keep_memory(cudaMemPool_t pool) {
  std::uint64_t threshold = std::numeric_limits<std::uint64_t>::max();
  BELFRY_CUDA_TRY(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
}

void let_access(cudaMemPool_t pool, int gpu) {
  cudaMemAccessDesc access{};
  access.location.type = cudaMemLocationTypeDevice;
  access.location.id = gpu;
  access.flags = cudaMemAccessFlagsProtReadWrite;
  BELFRY_CUDA_TRY(cudaMemPoolSetAccess(pool, &access, 1));
}

}  // namespace

DeviceState::DeviceState(std::shared_ptr<SharedState> shared, Position position,
                         std::span<const int> peers)
    : shared_(std::move(shared)), position_(position), reachable_from_{position.gpu} {
  if (is_host()) {
    pinned_.emplace();
  } else {
    open_pool(peers);
  }
  staging_.emplace(*this);
}

void DeviceState::open_pool(std::span<const int> peers) {
  const CurrentGpu current(gpu());
  const bool makes_pool = !has_programs_memory(shared_->options);
  if (makes_pool) pool_ = make_pool(gpu());
  try {
    if (makes_pool) {
      keep_memory(pool_);
      for (const int peer : peers) {
        if (reachable_from(peer) || !can_access(peer, gpu())) continue;
        let_access(pool_, peer);
        reachable_from_.push_back(peer);
      }
    }
    use_.limit_bytes = shared_->options.memory_limit_bytes;
    if (use_.limit_bytes == 0) {
      std::size_t available = 0;
      BELFRY_CUDA_TRY(cudaMemGetInfo(&available, &use_.limit_bytes));
    }
  } catch (...) {
    if (makes_pool) ignore_failure(cudaMemPoolDestroy(pool_));
    throw;
  }
}

DeviceState::~DeviceState() {
  staging_.reset();
  for (cudaEvent_t event : spare_events_) ignore_failure(cudaEventDestroy(event));
  if (pool_ != nullptr) ignore_failure(cudaMemPoolDestroy(pool_));
}

bool DeviceState::reachable_from(int gpu) const {
  return is_host() || std::ranges::find(reachable_from_, gpu) != reachable_from_.end();
}

void* DeviceState::allocate(std::size_t bytes, cudaStream_t stream) {
  reserve(bytes);
  void* address = nullptr;
  try {
    if (is_host()) {
      address = pinned_->take(bytes);
    } else if (bytes > 0) {
      address = allocate_on_gpu(bytes, stream);
    }
  } catch (...) {
    release(bytes);
    throw;
  }
  Counters::add(shared_->counters.allocations);
  return address;
}

void* DeviceState::allocate_on_gpu(std::size_t bytes, cudaStream_t stream) {
  const Options& options = shared_->options;
  if (options.allocator.allocate) {
    const CurrentGpu current(gpu());
    void* const address = options.allocator.allocate(bytes, gpu(), stream);
    if (address != nullptr) return address;
    throw DeviceError(ErrorCode::kOutOfMemory,
                      "the program's allocator has no " + std::to_string(bytes) +
                          " bytes for device GPU:" + std::to_string(index()),
                      "free tensors, or give the allocator more memory");
  }
  const bool has_pools = !options.memory_pools.empty();
  cudaMemPool_t const pool =
      has_pools ? options.memory_pools[static_cast<std::size_t>(index())] : pool_;
  void* address = nullptr;
  BELFRY_CUDA_TRY(cudaMallocFromPoolAsync(&address, bytes, pool, stream));
  return address;
}

void DeviceState::free(void* address, std::size_t bytes, cudaStream_t stream) noexcept {
  if (is_host()) {
    pinned_->give(address);
  } else if (address != nullptr && shared_->options.allocator.free) {
    shared_->options.allocator.free(address, bytes, gpu(), stream);
  } else if (address != nullptr) {
    ignore_failure(cudaFreeAsync(address, stream));
  }
  Counters::add(shared_->counters.frees);
  release(bytes);
}

MemoryUse DeviceState::memory() const {
  const std::lock_guard lock(mutex_);
  return use_;
}

void DeviceState::reserve(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  // The host has no limit.
  if (!is_host() && bytes > use_.limit_bytes - std::min(use_.limit_bytes, use_.live_bytes)) {
    throw DeviceError(ErrorCode::kOutOfMemory,
                      "device GPU:" + std::to_string(index()) + " has " +
                          std::to_string(use_.live_bytes) + " of " +
                          std::to_string(use_.limit_bytes) + " bytes in use and cannot give " +
                          std::to_string(bytes) + " more",
                      "free tensors, use smaller ones, or raise memory_limit_bytes");
  }
  use_.live_bytes += bytes;
  use_.peak_bytes = std::max(use_.peak_bytes, use_.live_bytes);
  ++use_.live_buffers;
}

void DeviceState::release(std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  use_.live_bytes -= bytes;
  --use_.live_buffers;
}

cudaEvent_t DeviceState::take_event() {
  {
    const std::lock_guard lock(mutex_);
    if (!spare_events_.empty()) {
      cudaEvent_t event = spare_events_.back();
      spare_events_.pop_back();
      return event;
    }
  }
  const CurrentGpu current(gpu());
  cudaEvent_t event = nullptr;
  BELFRY_CUDA_TRY(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return event;
}

void DeviceState::give_event(cudaEvent_t event) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    spare_events_.push_back(event);
  } catch (const std::bad_alloc&) {
    ignore_failure(cudaEventDestroy(event));
  }
}

}  // namespace belfry::cuda
