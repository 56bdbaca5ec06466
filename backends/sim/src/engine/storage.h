// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/block_pool.h"
#include "engine/foreign_owners.h"

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
  /// Memory of the program's own, which keeps its place. Clears `ended`, which the destructor sets.
  Storage(std::byte* foreign, ForeignOwners::Ended ended);
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  ~Storage();

  std::byte* data() const { return block_.data; }
  /// Whether the bytes may not move, and are no copy.
  bool is_fixed() const { return memory_ == nullptr; }
  /// For memory of the program's own: an edge of ThreadSanitizer between the last user and the end
  /// of the owner. Else null.
  const void* end_edge() const { return ended_ == nullptr ? nullptr : &ended_->edge; }
  /// Whether the bytes have been those of several allocations at once.
  bool has_been_shared() const { return has_been_shared_; }
  void note_sharing() { has_been_shared_ = true; }

 private:
  // Shared, for a copy may outlive the memory of its allocation. Null for memory of the program's.
  std::shared_ptr<DeviceMemory> memory_;
  std::size_t bytes_ = 0;
  Block block_;
  bool has_been_shared_ = false;
  ForeignOwners::Ended ended_{};  // Shared with the handle of the program's memory.
};

}  // namespace belfry::engine
