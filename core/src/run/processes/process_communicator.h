// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/process_links.h"
#include "belfry/call_site.h"
#include "belfry/detail/strategy_core.h"

namespace belfry::detail {

/// The links of the strategy's backend to devices of other processes. Null if the backend has no
/// links, or if the processes have found that the devices cannot be joined.
ProcessLinks* process_links(StrategyCore& core);

/// Makes the communicator over the devices of all processes, unless the strategy has the
/// communicator. All processes make this call. The result is false in all processes if the devices
/// cannot be joined.
/// Order: blocks the host. Throws: as ProcessLinks::join, and then PeerFailedError in the other
/// processes; as RoundMembers::exchange.
bool join_processes(StrategyCore& core, CallSite site);

}  // namespace belfry::detail
