// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/replica_phase.h"

#include "backend/carrier.h"
#include "belfry/backend/unwatched.h"

namespace belfry::detail {

ReplicaPhase current_phase() noexcept {
  const Unwatched unwatched;
  const Carrier* const carrier = current.carrier;
  if (carrier == nullptr || carrier->replica < 0) return {};
  return {carrier->replica, carrier->run->phase};
}

void begin_replica_phase(std::uint64_t phase) noexcept {
  const Unwatched unwatched;
  Carrier* const carrier = current.carrier;
  if (carrier != nullptr && carrier->replica < 0) carrier->run->phase = phase;
}

ReplicaInRun innermost_replica(const Executor& executor) noexcept {
  const Unwatched unwatched;
  const Carrier* const carrier = innermost_replica_on(executor);
  return carrier == nullptr ? ReplicaInRun{} : ReplicaInRun{carrier->replica, carrier->run->number};
}

}  // namespace belfry::detail
