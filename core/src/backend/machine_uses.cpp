// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/machine_uses.h"

namespace belfry::detail {

// The counts decide no result: a verdict alone depends on them.
constinit std::atomic<unsigned> bodies_of_explorations = 0;
constinit std::atomic<std::uint64_t> uses_beside_bodies = 0;
constinit std::atomic<void (*)(const Executor&) noexcept> at_begin_of_run = nullptr;

}  // namespace belfry::detail
