// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/backend.h"
#include "engine/engine.h"

#include <memory>
#include <vector>

namespace belfry::sim {

/// Collectives that run as one kernel over all members' memory, once all members' streams have got
/// there. Adds up in replica order. `devices` are the devices of the members, by rank.
std::unique_ptr<Communicator> make_communicator(std::vector<int> devices,
                                                std::shared_ptr<engine::Engine> engine);

}  // namespace belfry::sim
