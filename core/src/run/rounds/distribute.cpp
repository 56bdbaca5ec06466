// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/distribute.h"

#include "belfry/detail/process_exchange.h"
#include "belfry/error.h"

#include <exception>

namespace belfry::detail {

void throw_nobody_takes_part(CallSite site) {
  throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                             "no replica has a component of every argument of run",
                             "pass values of the same step together", site);
}

void throw_masked_process(CallSite site) {
  throw UnsupportedError(ErrorCode::kUnsupported,
                         "replicas that take no part in a run are not available over several "
                         "processes yet",
                         "pass values that have a component for every replica", site);
}

void tell_processes(StrategyCore& core, CallSite site) noexcept {
  if (core.processes() == nullptr) return;
  core.processes()->tell_failure(std::current_exception(), -1, site);
}

}  // namespace belfry::detail
