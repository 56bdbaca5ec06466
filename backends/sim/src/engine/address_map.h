// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/allocation.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

namespace belfry::engine {

/// Finds the allocation at an address, for drivers with users that hold plain pointers. Addresses
/// are only looked up: no order and no hash depends on an address. May be used by several threads.
class AddressMap {
 public:
  void insert(const AllocationPtr& allocation);
  void erase(const Allocation& allocation);
  /// The allocation that holds the byte at `address` (for an empty range: begins there), and the
  /// next `bytes` bytes. A range beyond the end is returned unchanged, for commands check bounds.
  /// Nothing without a live allocation at the address.
  std::optional<Access> find(const void* address, std::size_t bytes) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::uintptr_t, std::weak_ptr<Allocation>> by_begin_;
};

}  // namespace belfry::engine
