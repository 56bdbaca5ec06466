// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/compiler.h"

#include <atomic>
#include <cstdint>

namespace belfry {

class Executor;

namespace detail {

/// The bodies of explorations that run in the process (SEM-193). Zero in ordinary use.
extern constinit std::atomic<unsigned> bodies_of_explorations;
/// The machines that were used beside the bodies: devices whose schedule no exploration observes.
extern constinit std::atomic<std::uint64_t> uses_beside_bodies;
/// Called at the begin of each run, with the carrier of its replicas. Null until the first
/// exploration of the process.
extern constinit std::atomic<void (*)(const Executor&) noexcept> at_begin_of_run;

/// Notes a use of a machine that is no backend of a body, by any thread.
inline void note_use_beside_bodies() noexcept {
  if (bodies_of_explorations.load(std::memory_order_relaxed) == 0) [[likely]]
    return;
  uses_beside_bodies.fetch_add(1, std::memory_order_relaxed);
}

/// Notes a run of replicas on `executor`.
inline void note_run(const Executor& executor) noexcept {
  if (bodies_of_explorations.load(std::memory_order_relaxed) == 0) [[likely]]
    return;
  if (const auto note = at_begin_of_run.load(std::memory_order_relaxed)) note(executor);
}

}  // namespace detail
}  // namespace belfry
