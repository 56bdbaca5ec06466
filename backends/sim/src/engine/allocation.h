// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/block_pool.h"
#include "engine/range_set.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace belfry::engine {

class DeviceMemory;

/// The owners of memory of the program's own whose last handle has ended while commands in flight
/// use the memory. Commands run with the engine locked, and an owner may call anything at its end:
/// host calls outside of the engine therefore release owners. May be used by several threads.
class ForeignOwners {
 public:
  /// The end of the bytes' last user.
  struct End {
    /// Whether the bytes have no user. Set and cleared by the allocation; set before an allocation.
    std::atomic<bool> has_come{true};
    /// An edge of ThreadSanitizer from the users to the owner. A store to an atomic object replaces
    /// the earlier releases at the address of the object.
    char edge = 0;
  };
  // Shared by the allocation and the owner.
  using Ended = std::shared_ptr<End>;
  /// An owner that waits.
  struct Entry {
    std::shared_ptr<const void> owner;
    Ended ended;
  };

  /// Releases the owner of `entry`, a list of length 1, if the memory has no users, else, and in
  /// the body of a kernel, keeps the owner for a call of release_ended. Needs no memory.
  void part_with(std::list<Entry>& entry) noexcept;
  /// Releases the owners whose memory has no users any more.
  void release_ended() noexcept;

 private:
  std::atomic<std::size_t> count_{0};
  std::mutex mutex_;  // for waiting_
  std::list<Entry> waiting_;
};

/// The owner of a handle's memory. Made before the handle: the end of the handle needs no memory.
class ForeignOwner {
 public:
  ForeignOwner(std::shared_ptr<ForeignOwners> owners, std::shared_ptr<const void> owner)
      : owners_(std::move(owners)) {
    entry_.push_back({std::move(owner), std::make_shared<ForeignOwners::End>()});
  }
  ForeignOwner(const ForeignOwner&) = delete;
  ForeignOwner& operator=(const ForeignOwner&) = delete;
  /// The handle has let go of its allocation.
  ~ForeignOwner() { owners_->part_with(entry_); }

  const ForeignOwners::Ended& ended() const { return entry_.front().ended; }

 private:
  std::shared_ptr<ForeignOwners> owners_;  // Shared with the backend and all handles.
  std::list<ForeignOwners::Entry> entry_;
};

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
