// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/address_map.h"

#include <iterator>

namespace belfry::engine {
namespace {

std::uintptr_t number_of(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

}  // namespace

void AddressMap::insert(const AllocationPtr& allocation) {
  const std::lock_guard lock(mutex_);
  by_begin_[number_of(allocation->data())] = allocation;
}

void AddressMap::erase(const Allocation& allocation) {
  const std::lock_guard lock(mutex_);
  by_begin_.erase(number_of(allocation.data()));
}

std::optional<Access> AddressMap::find(const void* address, std::size_t bytes) const {
  // Declared before the lock: if this pointer becomes the last owner, the end of the allocation
  // takes the lock again.
  AllocationPtr allocation;
  const std::lock_guard lock(mutex_);
  const auto after = by_begin_.upper_bound(number_of(address));
  if (after == by_begin_.begin()) return std::nullopt;
  const auto& [begin, weak] = *std::prev(after);
  allocation = weak.lock();
  if (allocation == nullptr || allocation->retired()) return std::nullopt;
  const std::size_t offset = number_of(address) - begin;
  if (offset >= allocation->bytes() && offset != 0) return std::nullopt;
  return Access{allocation, {offset, offset + bytes}};
}

}  // namespace belfry::engine
