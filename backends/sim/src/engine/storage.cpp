// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/storage.h"

#include "engine/device_memory.h"

#include <utility>

namespace belfry::engine {

Storage::Storage(std::shared_ptr<DeviceMemory> memory, std::size_t bytes)
    : memory_(std::move(memory)), bytes_(bytes), block_(memory_->take(bytes)) {}

Storage::Storage(std::byte* foreign, ForeignOwners::Ended ended)
    : block_{foreign, 0, nullptr}, ended_(std::move(ended)) {
  ended_->has_come.store(false, std::memory_order_relaxed);
}

Storage::~Storage() {
  if (memory_ != nullptr) {
    memory_->release(block_, bytes_);
  } else {
    ended_->has_come.store(true, std::memory_order_release);
  }
}

}  // namespace belfry::engine
