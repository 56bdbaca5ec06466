// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace belfry::engine {

class CommandQueue;

/// The queues with a runnable head. Every operation takes constant time: taking a queue moves the
/// first queue into the gap. A B C D without C is B A D; as long as only position 0 is taken, the
/// queues are in the order in which they became runnable.
class ReadyList {
 public:
  std::uint32_t size() const { return static_cast<std::uint32_t>(queues_.size() - first_); }
  bool empty() const { return first_ == queues_.size(); }
  /// Makes room for `count` queues: `push` needs no memory up to that number.
  /// Throws: std::bad_alloc.
  void make_room(std::size_t count);
  /// The queue at `which`, below size().
  const CommandQueue& at(std::uint32_t which) const { return *queues_[first_ + which]; }
  void push(CommandQueue& queue) { queues_.push_back(&queue); }
  /// Removes and returns the queue at `which`, below size().
  CommandQueue& take(std::uint32_t which);

 private:
  std::vector<CommandQueue*> queues_;
  std::size_t first_ = 0;
};

}  // namespace belfry::engine
