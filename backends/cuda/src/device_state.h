// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/device.h"
#include "pinned_memory.h"
#include "shared_state.h"
#include "staging.h"

#include <cuda_runtime.h>

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace belfry::cuda {

/// The memory of a device: of a GPU, or of the host.
enum class Memory { kGpu, kHost };

/// The place of a device in its backend.
struct Position {
  int index = 0;
  int gpu = 0;  ///< The GPU that does the work of the device.
  Memory memory = Memory::kGpu;
};

/// The parts of a device that its streams and buffers need, possibly longer than the Device lives:
/// memory pool, memory counts, spare events.
class DeviceState {
 public:
  /// `peers` are the GPUs that may access the memory of this device, if the hardware permits. Every
  /// GPU may access memory of the host.
  DeviceState(std::shared_ptr<SharedState> shared, Position position, std::span<const int> peers);
  DeviceState(const DeviceState&) = delete;
  DeviceState& operator=(const DeviceState&) = delete;
  ~DeviceState();

  SharedState& shared() const { return *shared_; }
  int index() const { return position_.index; }
  int gpu() const { return position_.gpu; }
  bool is_host() const { return position_.memory == Memory::kHost; }
  /// Whether kernels on `gpu` can use memory of this device.
  bool reachable_from(int gpu) const;

  /// Memory of the host comes without regard to the stream. Throws: DeviceError (kOutOfMemory).
  void* allocate(std::size_t bytes, cudaStream_t stream);
  /// Memory of the host is free at once: all work with the memory must be done.
  void free(void* address, std::size_t bytes, cudaStream_t stream) noexcept;
  MemoryUse memory() const;

  /// An event without timing on this device's GPU, from a store of used ones if it has any.
  cudaEvent_t take_event();
  void give_event(cudaEvent_t event) noexcept;

  /// Writes of the host to this device.
  Staging& staging() { return *staging_; }

 private:
  void open_pool(std::span<const int> peers);
  void* allocate_on_gpu(std::size_t bytes, cudaStream_t stream);
  void reserve(std::size_t bytes);
  void release(std::size_t bytes) noexcept;

  std::shared_ptr<SharedState> shared_;  // with the Backend, other devices, and their buffers
  Position position_;
  std::vector<int> reachable_from_;
  cudaMemPool_t pool_ = nullptr;          // of a GPU, unless the program has memory of its own
  std::optional<PinnedMemory> pinned_{};  // of the host
  mutable std::mutex mutex_;              // for all below
  MemoryUse use_;
  std::vector<cudaEvent_t> spare_events_;
  // The destructor returns its events.
  std::optional<Staging> staging_;
};

}  // namespace belfry::cuda
