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

/// A piece of simulated device memory. The owner's handle and every command in flight share the
/// allocation. The bytes return to their pool at the end of the last user: a free of the handle is
/// therefore stream-ordered.
///
/// The engine's lock guards all members that commands may change. Only commands touch the bytes.
///
/// If the memory permits sharing, copies share their bytes until a copy is written: the written
/// copy gets its own bytes first.
class Allocation {
 public:
  Allocation(std::shared_ptr<DeviceMemory> memory, std::size_t bytes, std::uint64_t number);
  /// Memory of the program's own: written, and at a fixed place.
  Allocation(std::shared_ptr<DeviceMemory> memory, std::size_t bytes, std::uint64_t number,
             std::shared_ptr<Storage> foreign);
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;
  ~Allocation();

  /// The address of the bytes until the next write. Null before the first write of bytes that may
  /// move.
  std::byte* data() const { return storage_ == nullptr ? nullptr : storage_->data(); }
  /// Gives the allocation its own bytes, which may be written; bytes at a fixed place stay. Throws:
  /// std::bad_alloc.
  void make_own();
  /// Takes on the bytes of `source`, of equal size. False if either allocation has a fixed place.
  bool share(const Allocation& source);
  /// Storage::end_edge.
  const void* end_edge() const { return storage_ == nullptr ? nullptr : storage_->end_edge(); }
  std::size_t bytes() const { return bytes_; }
  int device() const { return device_; }
  /// Position among the allocations of its device, from 0, in the order of their making.
  std::uint64_t number() const { return number_; }
  /// A number unique among the allocations of the engine: for footprints.
  std::uint64_t resource() const;
  /// `buffer 3 of device 1 (4096 bytes)`.
  std::string describe() const;

  /// The written bytes.
  RangeSet& written() { return written_; }
  const RangeSet& written() const { return written_; }

  /// Records the reason of work that was to write here and did not. The first reason stays.
  void spoil(const std::exception_ptr& reason) {
    if (spoilt_by_ == nullptr) spoilt_by_ = reason;
  }
  /// Takes the value of bytes that were written. A reader gets the reason, also in place of the
  /// reason of earlier work. Needs no memory if room for a mark was made in `written`.
  void lose(ByteRange range, const std::exception_ptr& reason) {
    written_.erase(range);
    spoilt_by_ = reason;
  }
  /// The reason for missing bytes; null if no work was to write them.
  const std::exception_ptr& spoilt_by() const { return spoilt_by_; }

  /// Ends the allocation before the end of its last user: later accesses of commands fail. For
  /// drivers with users that free by address, not for allocations shared by handles.
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
