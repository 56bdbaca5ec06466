// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "device_table.h"

namespace belfry::sim {

// Every launch asks for its device.
SimDevice& DeviceTable::at(int index, Shared& shared) {
  detail::require_no_kernel();
  const auto place = static_cast<std::size_t>(index);
  const Chunk* const chunk = known_[place / kChunk].load(std::memory_order_acquire);
  if (chunk == nullptr) return make(index, shared);
  SimDevice* const device = chunk->known[place % kChunk].load(std::memory_order_acquire);
  return device == nullptr ? make(index, shared) : *device;
}

SimDevice& DeviceTable::make(int index, Shared& shared) {
  const auto place = static_cast<std::size_t>(index);
  const std::lock_guard lock(mutex_);
  auto& chunk = chunks_[place / kChunk];
  if (chunk == nullptr) chunk = std::make_unique<Chunk>();
  auto& device = chunk->devices[place % kChunk];
  if (device == nullptr) device = std::make_unique<SimDevice>(index, shared);
  chunk->known[place % kChunk].store(device.get(), std::memory_order_release);
  known_[place / kChunk].store(chunk.get(), std::memory_order_release);
  return *device;
}

}  // namespace belfry::sim
