// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/stack_pool.h"

#include "backend/sanitizers.h"
#include "belfry/error.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace belfry::detail {
namespace {

constexpr int kGuardInstall = 102;  // MADV_GUARD_INSTALL, which older headers lack.
constexpr std::size_t kPage = 4096;
constexpr std::size_t kFootBytes = 512;  // Must stay as the system made it: zero.
constexpr std::size_t kSmallest = 4 * kPage;
constexpr std::size_t kMostGuardPages = 4096;
constexpr std::size_t kWarmStacks = 4096;

// The distance from stack to stack; the page below each stack guards the stack. The number of pages
// is odd: the tops of stacks then lie in different sets of the caches. The number has a distance of
// at least 2 to multiples of 128. The reason is the second TLB of Intel's processors, which by
// published measurements chooses the set by the lower seven bits of a page's number xor the next
// seven bits: near a multiple of 128, the sets of all stacks would be nearly the same.
std::size_t stride_of(std::size_t bytes) {
  const std::size_t pages = bytes / kPage + 3;
  return (pages + ((pages + 1) % 128 < 3 ? 4 : 0)) * kPage;
}

std::size_t round_up(std::size_t bytes) {
  const std::size_t pages = (std::max(bytes, kSmallest) + kPage - 1) / kPage;
  return (pages + pages % 2) * kPage;
}

// Address space for `count` stacks; returns its end.
char* map_stacks(std::size_t bytes, std::size_t count) {
  const std::size_t total = count * stride_of(bytes);
  void* memory = ::mmap(nullptr, total, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) {
    throw DeviceError(ErrorCode::kOutOfMemory,
                      "no address space for " + std::to_string(count) + " stacks of " +
                          std::to_string(bytes >> 10) + " KiB",
                      "use fewer replicas or smaller stacks, or raise the limit (ulimit -v)");
  }
  // A huge page a stack would cost 2 MiB a replica.
  ::madvise(memory, total, MADV_NOHUGEPAGE);
  return static_cast<char*>(memory) + total;
}

// Returns the pages of neighbouring stacks to the system, a call for each run of neighbours. Guards
// stay.
void discard(std::vector<Stack>::iterator begin, std::vector<Stack>::iterator end) {
  std::sort(begin, end, [](const Stack& a, const Stack& b) { return a.low < b.low; });
  while (begin != end) {
    const std::size_t stride = stride_of(static_cast<std::size_t>(begin->high - begin->low));
    auto last = begin;
    while (last + 1 != end && (last + 1)->low == last->low + stride) ++last;
    ::madvise(begin->low, static_cast<std::size_t>(last->high - begin->low), MADV_DONTNEED);
    begin = last + 1;
  }
}

}  // namespace

bool foot_is_used(const Stack& stack) {
  const auto* foot = reinterpret_cast<const unsigned long*>(stack.low);
  return std::any_of(foot, foot + kFootBytes / sizeof(long),
                     [](unsigned long word) { return word != 0; });
}

bool guards(const Stack& stack, const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const auto low = reinterpret_cast<std::uintptr_t>(stack.low);
  return stack.guarded && at < low && at >= low - kPage;
}

StackPool& StackPool::shared() {
  // Never destroyed: executors with static storage may give their stacks back at any time.
  static StackPool& pool = *new StackPool;
  return pool;
}

void StackPool::take(std::size_t bytes, std::size_t count, std::vector<Stack>& stacks) {
  const std::lock_guard lock(mutex_);
  Pooled& pooled = pooled_[bytes];
  const std::size_t reused = std::min(count, pooled.stacks.size());
  const std::size_t fresh = count - reused;
  // Before anything is taken: `give` is called where nothing may fail.
  stacks.reserve(stacks.size() + count);
  pooled.stacks.reserve(pooled.made + fresh);
  if (fresh != 0) mappings_.reserve(mappings_.size() + 1);
  char* const end = fresh == 0 ? nullptr : map_stacks(bytes, fresh);
  if (fresh != 0) mappings_.push_back({end - fresh * stride_of(bytes), end, bytes});
  stacks.insert(stacks.end(), pooled.stacks.end() - static_cast<std::ptrdiff_t>(reused),
                pooled.stacks.end());
  pooled.stacks.resize(pooled.stacks.size() - reused);
  pooled.made += fresh;
  // The last in the vector is taken first: ascending addresses for ascending replicas.
  for (std::size_t i = 1; i <= fresh; ++i) {
    char* const high = end - (i - 1) * stride_of(bytes);
    stacks.push_back({high - bytes, high, false, false});
  }
}

void StackPool::give(std::size_t bytes, std::vector<Stack>& stacks) {
  if (stacks.empty()) return;
  const std::lock_guard lock(mutex_);
  std::vector<Stack>& pooled = pooled_[bytes].stacks;
  if (pooled.size() + stacks.size() > kWarmStacks) {
    const std::size_t warm = kWarmStacks - std::min(kWarmStacks, pooled.size());
    const auto excess = stacks.end() - static_cast<std::ptrdiff_t>(stacks.size() - warm);
    discard(excess, stacks.end());
    // Warm stacks are taken first.
    std::ranges::rotate(stacks, excess);
    pooled.insert(pooled.begin(), stacks.begin(), stacks.end());
  } else {
    pooled.insert(pooled.end(), stacks.begin(), stacks.end());
  }
  stacks.clear();
}

void StackPool::guard(Stack& stack) {
  stack.used = true;
  valgrind_stack(stack.low, stack.high);  // For ever: a pool unmaps no stack.
  void* const page = stack.low - kPage;
  if (guards_ == Guards::kBest && ::madvise(page, kPage, kGuardInstall) == 0) {
    stack.guarded = true;
    return;
  }
  if (guards_ == Guards::kNone) return;
  const std::lock_guard lock(mutex_);
  if (guard_pages_ == kMostGuardPages) return;
  stack.guarded = ::mprotect(page, kPage, PROT_NONE) == 0;
  if (stack.guarded) ++guard_pages_;
}

MemoryRange StackPool::stack_around(const char* address) {
  const std::lock_guard lock(mutex_);
  for (const Mapping& mapping : mappings_) {
    if (address < mapping.low || address >= mapping.high) continue;
    const std::size_t stride = stride_of(mapping.bytes);
    const auto below_top = static_cast<std::size_t>(mapping.high - 1 - address);
    const char* const high = mapping.high - below_top / stride * stride;
    if (address < high - mapping.bytes) return {};
    return {high - mapping.bytes, high};
  }
  return {};
}

MemoryRange StackPool::all_stacks() {
  const std::lock_guard lock(mutex_);
  MemoryRange all;
  for (const Mapping& mapping : mappings_) {
    if (all.low == nullptr || mapping.low < all.low) all.low = mapping.low;
    if (all.high == nullptr || mapping.high > all.high) all.high = mapping.high;
  }
  return all;
}

StackCache::StackCache(StackPool& pool, std::size_t bytes)
    : pool_(&pool), bytes_(round_up(bytes)) {}

}  // namespace belfry::detail
