// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/host_accesses.h"

#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

namespace belfry::detail {

/// Address space for a fiber; grows down from `high`. Pages get memory at their first use.
struct Stack {
  char* low = nullptr;
  char* high = nullptr;
  bool guarded = false;  ///< An access just below `low` faults.
  bool used = false;     ///< Some fiber has run on it.
};

/// Whether a fiber used more than the stack. For an unguarded stack the foot alone decides.
bool foot_is_used(const Stack& stack);
inline bool overflowed(const Stack& stack) { return !stack.guarded && foot_is_used(stack); }

/// Whether `address` lies in the page that guards `stack`. May be called in a handler of a signal.
bool guards(const Stack& stack, const void* address);

/// Unused stacks of all executors of the process: a fresh page costs more than any work of a fiber.
/// Thread-safe. The pool is among the library's two mutable statics.
class StackPool {
 public:
  enum class Guards { kBest, kPages, kNone };

  explicit StackPool(Guards guards = Guards::kBest) : guards_(guards) {}
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;

  static StackPool& shared();

  /// Appends `count` stacks of `bytes` to `stacks`. Throws: DeviceError (kOutOfMemory).
  void take(std::size_t bytes, std::size_t count, std::vector<Stack>& stacks);
  /// Takes all of `stacks` back and leaves the vector empty. Pages beyond the first few thousand
  /// stacks go back to the system.
  void give(std::size_t bytes, std::vector<Stack>& stacks);
  /// Makes `stack` ready for its first use.
  void guard(Stack& stack);
  /// The stack of the pool, in use or not, that contains `address`, or an empty range.
  MemoryRange stack_around(const char* address);
  /// The least range that contains all stacks of the pool.
  MemoryRange all_stacks();

 private:
  /// Neighbouring stacks of equal size, at a constant distance.
  struct Mapping {
    char* low = nullptr;
    char* high = nullptr;
    std::size_t bytes = 0;  ///< Of each stack.
  };

  std::mutex mutex_;
  std::vector<Mapping> mappings_;
  Guards guards_;
  std::size_t guard_pages_ = 0;  ///< Each splits a mapping; a process may have few mappings.
  struct Pooled {
    std::vector<Stack> stacks;
    std::size_t made = 0;  ///< The stacks that may come back: `stacks` has room for all.
  };
  std::map<std::size_t, Pooled> pooled_;
};

/// One executor's stacks. For one thread.
class StackCache {
 public:
  StackCache(StackPool& pool, std::size_t bytes);
  ~StackCache() { pool_->give(bytes_, free_); }
  StackCache(const StackCache&) = delete;
  StackCache& operator=(const StackCache&) = delete;

  std::size_t bytes() const { return bytes_; }
  /// Guarantees the success of `count` further takes.
  /// Throws: DeviceError (kOutOfMemory).
  void promise(std::size_t count) {
    const std::size_t needed = promised_ + count;
    if (free_.size() < needed) {
      const std::size_t more = needed - free_.size();
      free_.reserve(taken_ + more);  // So that giving back never fails.
      pool_->take(bytes_, more, free_);
      taken_ += more;
    }
    promised_ = needed;
  }
  /// Gives back the promise of `count` stacks.
  void waive(std::size_t count) { promised_ -= count; }
  /// Takes one of the promised stacks.
  Stack take() {
    Stack stack = free_.back();
    free_.pop_back();
    --promised_;
    if (!stack.used) pool_->guard(stack);
    return stack;
  }
  void give(const Stack& stack) { free_.push_back(stack); }

 private:
  StackPool* pool_;
  std::size_t bytes_;
  std::vector<Stack> free_;
  std::size_t taken_ = 0;  // Of the pool, free or not.
  std::size_t promised_ = 0;
};

}  // namespace belfry::detail
