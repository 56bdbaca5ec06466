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

/// Work that several queues do together. Each queue *arrives* when its part gets to the head of the
/// queue, and then waits. After the arrival of all members the command runs once, for all members,
/// and all queues go on. The maker fills in `command` before the last member is enqueued.
struct Collective {
  explicit Collective(std::size_t members) : queues(members, nullptr) {}

  Command command;
  std::vector<CommandQueue*> queues;  ///< By member; null until that member is enqueued.
  std::size_t arrived = 0;
  // Set if the collective is given up. The collective then completes without running.
  FailurePtr failure;
};

// Shared by the member queues and by the code that enqueues member after member.
using CollectivePtr = std::shared_ptr<Collective>;

}  // namespace belfry::engine
