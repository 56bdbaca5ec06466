// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/range_set.h"
#include "engine/storage.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>

namespace belfry::engine {

class DeviceMemory;

/// One piece of simulated device memory. The owner's handle and every command in flight share it;
/// the bytes go back to their pool when the last of them lets go, which makes a free of the handle
/// stream-ordered by itself.
///
/// What commands may do with it is guarded by the engine's lock; nothing else may touch the bytes.
///
/// Where its memory allows it, allocations that are copies of one another share their bytes until
/// one of them is written: that one gets bytes of its own first.
class Allocation {
 public:
  Allocation(std::shared_ptr<DeviceMemory> memory, std::size_t bytes, std::uint64_t number);
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;
  ~Allocation();

  /// Where the bytes are until the next write to them: null before the first, where they may move.
  std::byte* data() const { return storage_ == nullptr ? nullptr : storage_->data(); }
  /// Gives it bytes that may be written: its own. Throws: std::bad_alloc.
  void make_own();
  /// Takes on the bytes of `source`, of equal size. False where one of them has a fixed place.
  bool share(const Allocation& source);
  std::size_t bytes() const { return bytes_; }
  int device() const { return device_; }
  /// Position among the allocations of its device, from 0, in the order they were made.
  std::uint64_t number() const { return number_; }
  /// A number no other allocation of the engine has: for footprints.
  std::uint64_t resource() const;
  /// `buffer 3 of device 1 (4096 bytes)`.
  std::string describe() const;

  /// The bytes somebody has written.
  RangeSet& written() { return written_; }
  const RangeSet& written() const { return written_; }

  /// Takes note of why work that was to write here did not; the first reason stays.
  void spoil(const std::exception_ptr& reason) {
    if (spoilt_by_ == nullptr) spoilt_by_ = reason;
  }
  /// Why bytes that nobody has written are missing: null where no work was to write them.
  const std::exception_ptr& spoilt_by() const { return spoilt_by_; }

  /// Ends its life before its last user lets go: commands that still touch it fail. For drivers
  /// whose users free by address; where handles share the allocation nobody calls it.
  void retire();
  bool retired() const { return retired_; }

 private:
  // Shared: memory outlives the backend while handles do.
  std::shared_ptr<DeviceMemory> memory_;
  std::shared_ptr<Storage> storage_;
  std::size_t bytes_;
  int device_;
  std::uint64_t number_;
  RangeSet written_;
  std::exception_ptr spoilt_by_;
  std::atomic<bool> retired_{false};
};

// Shared by handles and the commands in flight.
using AllocationPtr = std::shared_ptr<Allocation>;

/// A part of an allocation that a command reads or writes.
struct Access {
  AllocationPtr allocation;
  ByteRange range;
};

}  // namespace belfry::engine
