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

/// Finds the allocation behind an address, for drivers whose users hold plain pointers. Addresses
/// are looked up here and decide nothing else: no order, no hash. May be used by several threads.
class AddressMap {
 public:
  void insert(const AllocationPtr& allocation);
  void erase(const Allocation& allocation);
  /// The allocation that holds the byte at `address` (or, for an empty range, begins there), and
  /// the `bytes` from there on. A range that runs over the end is returned as it is: commands
  /// check bounds. Nothing when no live allocation is there.
  std::optional<Access> find(const void* address, std::size_t bytes) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::uintptr_t, std::weak_ptr<Allocation>> by_begin_;
};

}  // namespace belfry::engine
