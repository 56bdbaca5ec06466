// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/block_pool.h"

#include <cstddef>
#include <memory>

namespace belfry::engine {

class DeviceMemory;

/// The bytes of an allocation, or of several allocations that are copies. The bytes go back to
/// their memory at the end of the last allocation.
class Storage {
 public:
  /// Throws: std::bad_alloc.
  Storage(std::shared_ptr<DeviceMemory> memory, std::size_t bytes);
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  ~Storage();

  std::byte* data() const { return block_.data; }

 private:
  // Shared, for a copy may outlive the memory of its allocation.
  std::shared_ptr<DeviceMemory> memory_;
  std::size_t bytes_;
  Block block_;
};

}  // namespace belfry::engine
