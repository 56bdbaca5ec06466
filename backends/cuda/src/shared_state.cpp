// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "shared_state.h"

#include "peer_work.h"

#include <utility>

namespace belfry::cuda {

Statistics Counters::snapshot() const {
  return {.kernel_launches = kernel_launches.load(),
          .local_collectives = local_collectives.load(),
          .nccl_collectives = nccl_collectives.load(),
          .all_reduce = all_reduce.snapshot(),
          .broadcast = broadcast.snapshot(),
          .all_gather = all_gather.snapshot(),
          .reduce_scatter = reduce_scatter.snapshot(),
          .exchange = exchange.snapshot(),
          .copy = copy.snapshot(),
          .write = write.snapshot(),
          .read = read.snapshot(),
          .synchronize = synchronize.snapshot(),
          .allocations = allocations.load(),
          .frees = frees.load(),
          .event_records = event_records.load(),
          .event_waits = event_waits.load()};
}

void EndedInBodies::keep(std::shared_ptr<const void> memory) noexcept {
  const std::lock_guard lock(mutex_);
  memory_.push_back(std::move(memory));
  is_empty_.store(false, std::memory_order_relaxed);
}

// Memory ends outside the lock: owners may call belfry.
void EndedInBodies::let_go() noexcept {
  if (is_empty_.load(std::memory_order_relaxed)) return;
  std::vector<std::shared_ptr<const void>> ended;
  const std::lock_guard lock(mutex_);
  ended.swap(memory_);
  is_empty_.store(true, std::memory_order_relaxed);
}

std::vector<std::shared_ptr<PeerWork>> PeerWorks::all() const {
  const std::lock_guard lock(mutex_);
  return works_;
}

void PeerWorks::add(std::shared_ptr<PeerWork> work) {
  const std::lock_guard lock(mutex_);
  works_.push_back(std::move(work));
  count_.store(works_.size(), std::memory_order_release);
}

void PeerWorks::remove(const PeerWork& work) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(works_, [&](const auto& one) { return one.get() == &work; });
  count_.store(works_.size(), std::memory_order_release);
}

}  // namespace belfry::cuda
