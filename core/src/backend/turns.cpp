// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/turns.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace belfry::detail {

Turn Turns::next_drawn() {
  while (ready_ > kFar && !drawn_.full()) {
    const std::uint32_t ready = ready_;
    const std::uint32_t k = choose(ready + runnable());
    if (k >= ready) return {Turn::Kind::kAgent, k - ready};
    drawn_.push(static_cast<int>(take(k).index));
  }
  return {Turn::Kind::kReplica, static_cast<std::uint32_t>(drawn_.pop())};
}

Turn Turns::preempt_drawn(int caller) {
  const std::uint32_t drawn = drawn_.size();
  const std::uint32_t ready = ready_;
  queue_[ready] = caller;
  const std::uint32_t k = choose(1 + drawn + ready + runnable());
  if (k == 0) return {Turn::Kind::kReplica, static_cast<std::uint32_t>(caller)};
  ascending_ = false;
  if (k <= drawn) {
    std::swap(drawn_[k - 1], caller);
    return {Turn::Kind::kReplica, static_cast<std::uint32_t>(caller)};
  }
  ++ready_;
  const std::uint32_t in_queue = k - drawn;
  return in_queue <= ready ? take(in_queue) : Turn{Turn::Kind::kAgent, in_queue - 1 - ready};
}

Turn Turns::wait() {
  const std::uint32_t agents = runnable();
  if (agents == 0) return {};
  return {Turn::Kind::kAgent, chooser_ == nullptr ? 0 : choose(agents)};
}

Turn Turns::preempt_caller() {
  if (chooser_ == nullptr) return {};
  caller_asks_ = true;
  const std::uint32_t k = choose(1 + runnable());
  caller_asks_ = false;
  return k == 0 ? Turn{} : Turn{Turn::Kind::kAgent, k - 1};
}

void Turns::admit_some(const Gate::Waiter* waiters, std::size_t count) {
  if (ready_ == 0) ascending_ = true;
  // Lowest last, if the replicas came in an order that permits this.
  for (std::size_t i = count; i-- > 0;) queue_[ready_++] = waiters[i].replica;
  restore_order(count);
}

void Turns::admit(const std::vector<int>& replicas) {
  if (ready_ == 0) ascending_ = true;
  std::ranges::reverse_copy(replicas, queue_.begin() + ready_);
  ready_ += static_cast<std::uint32_t>(replicas.size());
  restore_order(replicas.size());
}

void Turns::restore_order(std::size_t added) {
  // Looks at the new replicas and, if the old replicas are in order, at the last of them.
  const bool all = ascending_;
  const auto end = queue_.begin() + ready_;
  const auto fresh = end - static_cast<std::ptrdiff_t>(added);
  const auto from = all && fresh != queue_.begin() ? fresh - 1 : fresh;
  if (std::is_sorted(from, end, std::greater<>())) return;
  std::sort(all ? queue_.begin() : fresh, end, std::greater<>());
}

}  // namespace belfry::detail
