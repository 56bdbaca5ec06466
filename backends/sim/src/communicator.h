// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/backend.h"
#include "belfry/detail/flight_ring.h"
#include "engine/engine.h"

#include <memory>
#include <vector>

namespace belfry::sim {

/// Collectives that run as one kernel over all members' memory, once all members' streams have got
/// there. Adds up in replica order. `devices` are the devices of the members, by rank. A flight
/// recorder gets the collectives; null: none.
std::unique_ptr<Communicator> make_communicator(std::vector<int> devices,
                                                std::shared_ptr<engine::Engine> engine,
                                                belfry::detail::FlightRing* flights);

}  // namespace belfry::sim
