// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/foreign_owners.h"

#include "belfry/backend/current_slot.h"
#include "engine/queue_history.h"

#include <iterator>

namespace belfry::engine {
namespace {

bool has_ended(const ForeignOwners::Entry& entry) {
  if (!entry.ended->has_come.load(std::memory_order_acquire)) return false;
  QueueHistory::acquire(&entry.ended->edge);
  return true;
}

}  // namespace

void ForeignOwners::part_with(std::list<Entry>& entry) noexcept {
  // The end of an owner may call belfry, and a body may not.
  if (!detail::is_in_kernel() && has_ended(entry.front())) return entry.clear();
  const std::lock_guard lock(mutex_);
  waiting_.splice(waiting_.end(), entry);
  count_.store(waiting_.size(), std::memory_order_relaxed);
}

// Owners end outside the lock: their ends may end more handles.
void ForeignOwners::release_ended() noexcept {
  if (count_.load(std::memory_order_relaxed) == 0) return;
  std::list<Entry> ended;  // Destroyed after the lock.
  const std::lock_guard lock(mutex_);
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    const auto entry = at++;
    if (has_ended(*entry)) ended.splice(ended.end(), waiting_, entry);
  }
  count_.store(waiting_.size(), std::memory_order_relaxed);
}

}  // namespace belfry::engine
