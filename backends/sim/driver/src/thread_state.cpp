// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "thread_state.h"

#include "machine.h"

namespace belfry::driver {

ThreadState& thread_state(const std::shared_ptr<Machine>& machine) {
  // CUDA defines a current device and a last error for each thread, without a handle.
  thread_local ThreadState state;
  const bool same = !state.machine.owner_before(machine) && !machine.owner_before(state.machine);
  if (!same) {
    state = ThreadState{};
    state.machine = machine;
  }
  return state;
}

}  // namespace belfry::driver
