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
          .copies = copies.load(),
          .host_writes = host_writes.load(),
          .host_reads = host_reads.load(),
          .allocations = allocations.load(),
          .frees = frees.load(),
          .event_records = event_records.load(),
          .event_waits = event_waits.load()};
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
