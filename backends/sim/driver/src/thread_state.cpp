// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "thread_state.h"

#include "machine.h"

#include <optional>

namespace belfry::driver {

ThreadState::~ThreadState() {
  if (!counted) return;
  const std::shared_ptr<Machine> owner = machine.lock();
  if (owner == nullptr) return;
  // First the communicators: in between, no wait may look like a deadlock.
  owner->cliques.leave(*this);
  owner->count_threads(-1);
}

void ThreadState::count(Machine& owner) {
  if (counted) return;
  owner.count_threads(1);
  counted = true;
}

ThreadState& thread_state(const std::shared_ptr<Machine>& machine) {
  // CUDA defines a current device and a last error for each thread, without a handle.
  thread_local std::optional<ThreadState> state;
  const bool same =
      state && !state->machine.owner_before(machine) && !machine.owner_before(state->machine);
  if (!same) {
    state.reset();
    state.emplace(machine);
  }
  return *state;
}

}  // namespace belfry::driver
