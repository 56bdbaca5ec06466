// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

namespace belfry::engine {

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

}  // namespace belfry::engine
