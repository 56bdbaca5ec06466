// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/ready_list.h"

#include <cstddef>

namespace belfry::engine {

// The front that `take` leaves unused is at most as long as the part in use.
void ReadyList::make_room(std::size_t count) {
  const std::size_t needed = 2 * count + 1;
  if (needed > queues_.capacity()) queues_.reserve(2 * needed);
}

CommandQueue& ReadyList::take(std::uint32_t which) {
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

}  // namespace belfry::engine
