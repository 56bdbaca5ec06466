// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/host_accesses.h"

#include "backend/stack_pool.h"

namespace belfry::detail {

constinit HostAccesses* host_accesses = nullptr;

MemoryRange stack_around(const void* address) {
  return StackPool::shared().stack_around(static_cast<const char*>(address));
}

MemoryRange all_stacks() { return StackPool::shared().all_stacks(); }

}  // namespace belfry::detail
