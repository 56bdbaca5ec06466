// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace belfry::testing {

/// The allocations of the process that fail.
enum class Shortage : std::uint8_t {
  kOnce,       ///< A single allocation.
  kFromThere,  ///< An allocation and all later ones.
};

/// Makes operator new throw std::bad_alloc, on any thread, while an object of this class lives.
/// The test executable links failing_allocator.cpp, a replacement of every form of operator new.
class FailingAllocator {
 public:
  /// The allocation after the first `at` of them fails.
  explicit FailingAllocator(std::uint64_t at, Shortage shortage = Shortage::kOnce);
  FailingAllocator(const FailingAllocator&) = delete;
  FailingAllocator& operator=(const FailingAllocator&) = delete;
  ~FailingAllocator();

  /// While an object lives, allocations of the calling thread do not count: the thread is in a
  /// stand-in for a library of another vendor.
  class Exempt {
   public:
    Exempt();
    Exempt(const Exempt&) = delete;
    Exempt& operator=(const Exempt&) = delete;
    ~Exempt();
  };

  /// Ends the shortage.
  void stop();
  /// Whether an allocation has failed.
  bool has_failed() const;
};

}  // namespace belfry::testing
