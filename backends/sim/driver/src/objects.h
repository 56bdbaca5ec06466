// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/allocation.h"
#include "engine/command.h"
#include "engine/command_queue.h"
#include "order_point.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

/// The objects behind handles.
namespace belfry::driver {

struct StreamObject {
  /// A blocking stream and the default stream of its GPU wait for each other.
  enum class Kind : std::uint8_t { kNonBlocking, kBlocking, kDefault };

  int gpu = 0;
  Kind kind = Kind::kNonBlocking;
  engine::CommandQueue* queue = nullptr;
};

struct EventObject {
  int gpu = 0;
  engine::EventPoint point;
  OrderPointPtr ordered;  ///< With the waits for it; guarded by the RaceBook.
};

struct PoolObject {
  int gpu = 0;
  std::vector<int> reachable_from;
};

/// Memory without a free by the user.
struct MemoryObject {
  engine::AllocationPtr allocation;
  // With the table of pools; outlives the pool's handle. Null for memory of no pool.
  std::shared_ptr<PoolObject> pool;
};

/// Pinned memory of the host, which copies and kernels of every GPU may use. The program writes the
/// bytes without the driver's knowledge: all of them count as written.
struct HostMemoryObject {
  engine::AllocationPtr allocation;
};

}  // namespace belfry::driver
