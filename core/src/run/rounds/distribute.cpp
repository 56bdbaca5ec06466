// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/distribute.h"

#include "belfry/detail/process_exchange.h"
#include "belfry/error.h"
#include "run/processes/listening.h"
#include "run/rounds/replica_runner.h"

#include <exception>

namespace belfry::detail {

void run_replicas(StrategyCore& core, CrossReplicaContext& cross,
                  FunctionRef<void(ReplicaContext&)> function, const Participants& present,
                  const RunOptions& options) {
  if (present.count() == 0) [[unlikely]] {
    return listen_to_run(core, cross, options);
  }
  ReplicaRunner(core, cross, function, present).run(options);
}

void throw_nobody_takes_part(CallSite site) {
  throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                             "no replica has a component of every argument of run",
                             "pass values of the same step together", site);
}

void tell_processes(StrategyCore& core, CallSite site) noexcept {
  if (core.processes() == nullptr) return;
  core.processes()->tell_failure(std::current_exception(), -1, site);
}

}  // namespace belfry::detail
