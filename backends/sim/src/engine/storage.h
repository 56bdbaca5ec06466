// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/block_pool.h"

#include <cstddef>
#include <memory>

namespace belfry::engine {

class DeviceMemory;

/// The bytes of one allocation, or of several while they are copies of one another. They go back to
/// the memory they are from when the last of those lets go.
class Storage {
 public:
  /// Throws: std::bad_alloc.
  Storage(std::shared_ptr<DeviceMemory> memory, std::size_t bytes);
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  ~Storage();

  std::byte* data() const { return block_.data; }

 private:
  // Shared: the memory of an allocation that is a copy may be gone before the copy is.
  std::shared_ptr<DeviceMemory> memory_;
  std::size_t bytes_;
  Block block_;
};

}  // namespace belfry::engine
