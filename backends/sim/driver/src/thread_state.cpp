// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "thread_state.h"

#include "machine.h"

#include <optional>

namespace belfry::driver {

ThreadState::~ThreadState() {
  const std::shared_ptr<Machine> owner = machine.lock();
  if (owner == nullptr) return;
  // First the communicators: in between, no wait may look like a deadlock.
  owner->cliques.leave(*this);
  if (counted_) owner->count_threads(-1);
}

void ThreadState::set_inside(Machine& owner, bool inside) {
  const std::lock_guard lock(mutex_);
  inside_ = inside;
  count(owner);
}

void ThreadState::change_ranks(Machine& owner, int change) {
  const std::lock_guard lock(mutex_);
  ranks_ += change;
  count(owner);
}

void ThreadState::count(Machine& owner) {
  const bool counts = inside_ || ranks_ > 0;
  if (counts == counted_) return;
  counted_ = counts;
  owner.count_threads(counts ? 1 : -1);
}

ThreadState& thread_state(const std::shared_ptr<Machine>& machine) {
  // CUDA defines a current device and a last error for each thread, without a handle.
  thread_local std::optional<ThreadState> state;
  const bool same =
      state && !state->machine.owner_before(machine) && !machine.owner_before(state->machine);
  if (!same) {
    state.reset();
    state.emplace(machine);
    state->number = machine->next_thread_number();
  }
  return *state;
}

}  // namespace belfry::driver
