// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/observer.h"
#include "belfry/sim/race.h"
#include "races/access_history.h"

#include <cstdint>

namespace belfry::sim::races {

/// The race of two accesses to the buffer that `maker` has made as its `number`-th.
Race race_of(const Actor& maker, std::uint32_t number, const BufferAccess& first,
             const BufferAccess& second);

/// A record, wait or query of an event, as a side of a race. `code` is as of Observation.
RaceSide side_of_event(Observation::Kind kind, const Actor& actor, const CallSite& site,
                       const void* code);

}  // namespace belfry::sim::races
