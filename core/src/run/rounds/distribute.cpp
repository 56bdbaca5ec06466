// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/distribute.h"

#include "belfry/error.h"
#include "run/rounds/exception_text.h"
#include "run/rounds/leaving_run.h"
#include "run/rounds/replica_runner.h"

#include <exception>

namespace belfry::detail {

void listen_to_run(StrategyCore& core, CrossReplicaContext& cross, const RunOptions& options) {
  const StrategyCore::RunLock lock(core, options.site);
  RoundMembers& members = core.members();
  if (!lock.is_outermost()) members.require_alone("a run inside a run", options.site);
  core.statistics().runs += 1;
  try {
    CurrentContext here = core.cross_context(cross);
    const CurrentScope scope(here);
    const SiteScope site(options.site);
    const auto listen = [&] { members.listen(core, options.site); };
    const auto no_replica = [&] { return RunCulprit{-1, options.site}; };
    run_with_members(members, listen, no_replica);
  } catch (...) {
    const std::exception_ptr thrown = std::current_exception();
    core.last_failure() = report_of(thrown);
    std::rethrow_exception(
        leaving_run(thrown, &*core.last_failure(), core.backend().run_settings(), options.site));
  }
}

void throw_nobody_takes_part(CallSite site) {
  throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                             "no replica has a component of every argument of run",
                             "pass values of the same step together", site);
}

}  // namespace belfry::detail
