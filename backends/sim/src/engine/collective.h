// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/command.h"
#include "engine/failure.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace belfry::engine {

class CommandQueue;

/// Work that several queues do together: each *arrives* when its part gets to the head of its
/// queue, and stays there; when all members have arrived the command runs once, for all of them,
/// and all go on. The maker fills in `command` before the last member is enqueued.
struct Collective {
  explicit Collective(std::size_t members) : queues(members, nullptr) {}

  Command command;
  std::vector<CommandQueue*> queues;  ///< By member; null until that member is enqueued.
  std::size_t arrived = 0;
  // Set when somebody gives the collective up; then it completes without running.
  FailurePtr failure;
};

// Shared by the member queues and by whoever enqueues the members one by one.
using CollectivePtr = std::shared_ptr<Collective>;

}  // namespace belfry::engine
