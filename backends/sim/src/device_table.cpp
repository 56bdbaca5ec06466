// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "device_table.h"

namespace belfry::sim {

SimDevice& DeviceTable::at(int index, Shared& shared) {
  detail::require_no_kernel();
  const auto place = static_cast<std::size_t>(index);
  const std::lock_guard lock(mutex_);
  auto& chunk = chunks_[place / kChunk];
  if (chunk == nullptr) chunk = std::make_unique<Chunk>();
  auto& device = (*chunk)[place % kChunk];
  if (device == nullptr) device = std::make_unique<SimDevice>(index, shared);
  return *device;
}

}  // namespace belfry::sim
