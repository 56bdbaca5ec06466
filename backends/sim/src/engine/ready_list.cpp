// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/ready_list.h"

#include <algorithm>

namespace belfry::engine {

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

void ReadyList::remove(const CommandQueue& queue) {
  const auto begin = queues_.begin() + static_cast<std::ptrdiff_t>(first_);
  const auto found = std::find(begin, queues_.end(), &queue);
  if (found != queues_.end()) queues_.erase(found);
}

}  // namespace belfry::engine
