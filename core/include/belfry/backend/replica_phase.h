// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/compiler.h"

#include <cstdint>

namespace belfry {

class Executor;

namespace detail {

/// A replica between two meetings of all replicas: begins of runs and merges. Two replicas of equal
/// phase have no order.
struct ReplicaPhase {
  int replica = -1;  ///< The replica of the calling code; -1: the caller of a run, or nobody.
  std::uint64_t phase = 0;  ///< The number that the runner has set last.
};
/// The replica and the phase of the calling code, in the innermost run of any executor.
ReplicaPhase current_phase() noexcept;
/// Begins a phase of the innermost run. Context: the caller of the run, while no replica goes on;
/// elsewhere nothing happens.
void begin_replica_phase(std::uint64_t phase) noexcept;

/// The replica of the calling code, if the innermost run is a run of `executor`.
struct ReplicaInRun {
  int replica = -1;       ///< -1: none.
  std::uint32_t run = 0;  ///< CarryOptions::number.
};
ReplicaInRun innermost_replica(const Executor& executor) noexcept;

}  // namespace detail
}  // namespace belfry
