// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/executor.h"
#include "belfry/backend/operation.h"
#include "engine/command.h"
#include "engine/queue_history.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace belfry::engine {

/// A host call that waits for a queue or an event. Lives on the waiting call's stack.
struct HostWait {
  Gate gate;
  bool parked = false;  ///< Waits at the gate of a replica, not by running queues itself.
  bool done = false;
  FailurePtr failure;
};

/// An item of a queue: work, a record, a wait, or its part in a collective.
struct QueueItem {
  enum class Kind : std::uint8_t { kWork, kRecord, kWait, kCollective };
  Kind kind = Kind::kWork;
  std::unique_ptr<const Command> command;  ///< Of kWork. Not a member: most items have none.
  std::shared_ptr<EventRecord> record;     ///< Of kRecord and kWait.
  CollectivePtr collective;                ///< Of kCollective.
  bool begun = false;                      ///< At the head, and the engine has taken note of it.
};

/// A stream in the engine: a first-in-first-out queue and its progress. Only the engine makes,
/// changes and destroys a queue; all callers hold it as a handle.
class CommandQueue {
 public:
  CommandQueue(int device, std::int32_t number, std::string label)
      : device_(device), number_(number), label_(std::move(label)) {}

  int device() const { return device_; }
  /// Names the queue in logs: its agent is kStream with this index.
  std::int32_t number() const { return number_; }
  const std::string& label() const { return label_; }
  AgentId agent() const { return {AgentId::Kind::kStream, number_}; }
  /// The number of host calls that wait for the queue, for tests: an ended wait no longer counts.
  std::size_t waiting_hosts() const { return waiting_hosts_.size(); }
  /// The number of items that are done.
  std::uint64_t done() const { return done_; }
  /// The next item. The queue is not empty.
  const QueueItem& head() const { return items_.front(); }

 private:
  friend class Engine;

  // Keeps memory for a failure: `fail` then needs no memory. Throws: std::bad_alloc.
  void keep_spare() {
    if (spare_ == nullptr) spare_ = std::make_shared<Failure>();
  }

  // The first failure stays. `instead` is for a queue whose spare failure is used up.
  void fail(const std::exception_ptr& exception, const FailurePtr& instead) {
    if (failure_ != nullptr) return;
    if (spare_ == nullptr) {
      failure_ = instead;
      return;
    }
    *spare_ = Failure{exception, device_};
    failure_ = std::exchange(spare_, nullptr);
  }

  // Makes the queue usable again after a host has learned of the failure.
  void clear_failure() {
    if (failure_ != nullptr) failure_->told = true;
    failure_ = nullptr;
  }

  const int device_;
  const std::int32_t number_;
  const std::string label_;

  std::deque<QueueItem> items_;
  std::uint64_t enqueued_ = 0;  // How many items there have been,
  std::uint64_t done_ = 0;      // and how many of them are done.
  FailurePtr failure_;
  std::shared_ptr<Failure> spare_;  // Of this queue alone, until it becomes the failure.
  std::vector<std::pair<std::uint64_t, HostWait*>> waiting_hosts_;  // Until done_ gets there.
  QueueHistory history_;
  bool queued_for_advance_ = false;
  bool closed_ = false;
  std::size_t slot_ = 0;  // Where the engine keeps it.
};

/// The queues with a runnable head. Every operation takes constant time: taking a queue moves the
/// first queue into the gap. A B C D without C is B A D; as long as only position 0 is taken, the
/// queues are in the order in which they became runnable.
class ReadyList {
 public:
  std::uint32_t size() const { return static_cast<std::uint32_t>(queues_.size() - first_); }
  bool empty() const { return first_ == queues_.size(); }
  /// Makes room for `count` queues: `push` needs no memory up to that number.
  /// Throws: std::bad_alloc.
  void make_room(std::size_t count) {
    // The front that `take` leaves unused is at most as long as the part in use.
    const std::size_t needed = 2 * count + 1;
    if (needed > queues_.capacity()) queues_.reserve(2 * needed);
  }
  /// The queue at `which`, below size().
  const CommandQueue& at(std::uint32_t which) const { return *queues_[first_ + which]; }
  void push(CommandQueue& queue) { queues_.push_back(&queue); }
  /// Removes and returns the queue at `which`, below size().
  CommandQueue& take(std::uint32_t which) {
    CommandQueue& queue = *queues_[first_ + which];
    queues_[first_ + which] = queues_[first_];
    ++first_;
    if (first_ == queues_.size()) {
      queues_.clear();
      first_ = 0;
    } else if (first_ > queues_.size() / 2) {
      queues_.erase(queues_.begin(), queues_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
    return queue;
  }

 private:
  std::vector<CommandQueue*> queues_;
  std::size_t first_ = 0;
};

}  // namespace belfry::engine
