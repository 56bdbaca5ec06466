// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/buffer.h"
#include "belfry/backend/current_slot.h"
#include "belfry/backend/device.h"
#include "belfry/backend/host_visible.h"
#include "belfry/backend/kernel_failures.h"
#include "belfry/backend/witness.h"
#include "engine/allocation.h"
#include "engine/device_memory.h"
#include "engine/engine.h"
#include "stream.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace belfry::sim {

/// The common state of a backend's devices.
struct Shared {
  int devices = 0;
  std::size_t memory_limit_bytes = 0;
  bool share_copies = false;
  bool check_kernels = false;
  // Before the engine, whose commands use the memory of the owners.
  std::shared_ptr<engine::ForeignOwners> owners = std::make_shared<engine::ForeignOwners>();
  std::shared_ptr<engine::Engine> engine;
  std::shared_ptr<engine::BlockPool> staging;
  std::shared_ptr<KernelFailures> kernel_failures = std::make_shared<KernelFailures>();
  OperationSink* sink = nullptr;
  std::atomic<std::int32_t> far_streams{0};  // Streams beyond the numbers set aside for a device.
};

/// The canonical name of simulated device `index` of a backend with this many devices: `SIM:index`,
/// or `CPU:0` for the host, which follows the devices.
DeviceSpec simulated_device(int index, int devices);

class SimDevice final : public Device,
                        public ForeignMemoryDevice,
                        public HostVisibleDevice,
                        public CopyWitness {
 public:
  SimDevice(int index, Shared& shared);

  int index() const override { return index_; }
  DeviceSpec spec() const override { return simulated_device(index_, shared_.devices); }
  BufferPtr allocate(std::size_t bytes, Stream& stream) override;
  BufferPtr adopt(ForeignMemory memory, Stream& stream) override;
  MemoryPlace memory_place() const override { return {}; }
  void* lend(const BufferView& view, std::optional<std::int64_t> consumer_stream) override;
  const std::byte* read_in_place(const BufferView& view) override;
  std::byte* fill_in_place(const BufferView& view) override;
  Stream& compute_stream() override { return compute_; }
  Stream& communication_stream() override { return communication_; }
  std::unique_ptr<Stream> create_stream() override;
  std::unique_ptr<Event> create_event() override;
  MemoryUse memory() const override {
    shared_.engine->asked("memory");
    return memory_->use();
  }
  bool is_used_by_others(const BufferView& view) override;
  void copies_for_write(const BufferView& view) override;

  const engine::DeviceMemory& device_memory() const { return *memory_; }

 private:
  bool is_host() const { return index_ == shared_.devices; }
  // In the engine, where memory of numbers below 0 is the host's and -1 is the device of a
  // deadlock.
  int number() const { return is_host() ? -2 : index_; }
  engine::QueueOptions next_stream();

  const int index_;
  Shared& shared_;
  // Shared with the allocations, for an allocation may outlive the device.
  std::shared_ptr<engine::DeviceMemory> memory_;
  std::atomic<std::int32_t> streams_{0};
  SimStream compute_;
  SimStream communication_;
};

/// The devices used until now, found by index in constant time. Memory is reserved for a thousand
/// neighbours at a time. May be used by several threads.
class DeviceTable {
 public:
  explicit DeviceTable(int devices)
      : chunks_((static_cast<std::size_t>(devices) + kChunk - 1) / kChunk),
        known_(chunks_.size()) {}

  /// The device, made at the first call. Throws: ContextError (kWrongContext) in the body of a
  /// user's kernel: the body runs with the engine locked, which making a device locks after the
  /// table.
  SimDevice& at(int index, Shared& shared);
  /// Calls `visit` with every device made so far, in order. Throws as `at`.
  template <class Visit>
  void for_each(Visit visit) const {
    detail::require_no_kernel();
    const std::lock_guard lock(mutex_);
    for (const auto& chunk : chunks_) {
      if (chunk == nullptr) continue;
      for (const auto& device : chunk->devices) {
        if (device != nullptr) visit(*device);
      }
    }
  }

 private:
  static constexpr std::size_t kChunk = 1024;
  struct Chunk {
    std::array<std::unique_ptr<SimDevice>, kChunk> devices{};
    std::array<std::atomic<SimDevice*>, kChunk> known{};  // The same, without the lock.
  };

  SimDevice& make(int index, Shared& shared);

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::vector<std::atomic<Chunk*>> known_;  // The same, without the lock.
};

}  // namespace belfry::sim
