// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace belfry::engine {

class CommandQueue;

/// The queues with a runnable head. Position 0 became runnable first if only position 0 is ever
/// taken; taking another position moves the first queue there. Every operation takes constant time.
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
