// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/strategy/run_options.h"
#include "belfry/detail/strategy_core.h"

namespace belfry::detail {

/// A run in which no replica of this process takes part: joins every exchange of the run, and gives
/// the mirrored variables of this process their new values (SEM-212). Order: blocks the host until
/// the replicas of all processes have ended.
/// Throws: InvalidArgumentError (kInvalidArgument) if no replica of any process takes part;
/// otherwise as ProcessExchange::listen, and the failure of the run.
void listen_to_run(StrategyCore& core, CrossReplicaContext& cross, const RunOptions& options);

}  // namespace belfry::detail
