// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/current_slot.h"
#include "device.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace belfry::sim {

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
