// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "memory/failing_allocator.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

using belfry::testing::Shortage;

// Replicas may be on threads.
std::atomic<bool> counting = false;
std::atomic<std::uint64_t> counted = 0;
std::atomic<std::uint64_t> limit = 0;
std::atomic<bool> lasting = false;
thread_local int exempt = 0;

bool fails() {
  if (!counting.load(std::memory_order_relaxed) || exempt > 0) return false;
  const std::uint64_t number = counted.fetch_add(1, std::memory_order_relaxed);
  return lasting.load(std::memory_order_relaxed) ? number >= limit : number == limit;
}

void* allocate(std::size_t bytes) noexcept {
  return fails() ? nullptr : std::malloc(std::max<std::size_t>(bytes, 1));
}

void* allocate(std::size_t bytes, std::align_val_t alignment) noexcept {
  void* memory = nullptr;
  const std::size_t least = std::max(static_cast<std::size_t>(alignment), sizeof(void*));
  if (fails() || ::posix_memalign(&memory, least, std::max<std::size_t>(bytes, 1)) != 0) {
    return nullptr;
  }
  return memory;
}

void* or_throw(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

namespace belfry::testing {

FailingAllocator::FailingAllocator(std::uint64_t at, Shortage shortage) {
  counted = 0;
  limit = at;
  lasting = shortage == Shortage::kFromThere;
  counting = true;
}

FailingAllocator::~FailingAllocator() { stop(); }

FailingAllocator::Exempt::Exempt() { ++exempt; }

FailingAllocator::Exempt::~Exempt() { --exempt; }

void FailingAllocator::stop() { counting = false; }

bool FailingAllocator::has_failed() const { return counted > limit; }

}  // namespace belfry::testing

void* operator new(std::size_t bytes) { return or_throw(allocate(bytes)); }
void* operator new[](std::size_t bytes) { return or_throw(allocate(bytes)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return or_throw(allocate(bytes, alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return or_throw(allocate(bytes, alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes); }
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(bytes, alignment);
}
void* operator new[](std::size_t bytes, std::align_val_t alignment,
                     const std::nothrow_t&) noexcept {
  return allocate(bytes, alignment);
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  std::free(memory);
}
