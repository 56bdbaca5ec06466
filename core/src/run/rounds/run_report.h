// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/kernel_failures.h"
#include "belfry/detail/function_ref.h"
#include "belfry/detail/participants.h"
#include "belfry/error.h"
#include "run/rounds/replica_runner.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <vector>

/// The texts of failed runs. Each function may throw std::bad_alloc; the run
/// fails all the same.
namespace belfry::detail {

/// The number of calls into belfry that a replica may make, and swallow the exception of, after its
/// run failed.
inline constexpr std::uint32_t kPatience = 16;

/// The part of a run that reports describe.
struct RunFacts {
  const ReplicaStates& states;
  const std::vector<MergeRequest*>& requests;  ///< By replica id.
  const Participants& present;
  const KernelFailures* kernel_failures = nullptr;  ///< Of the backend; may be null.
  // For a round of several processes.
  CurrentContext* cross = nullptr;  ///< The context of merges.
  /// Executes the merge of a group: whether the run goes on. Null: no group has come.
  const FunctionRef<bool(const Participants&)>* merge_group = nullptr;
};

/// The failure of a run: the exception for the caller of `run`, and the report of the strategy's
/// last failure.
struct Failure {
  std::exception_ptr exception;
  ErrorReport report;
};

/// A line for each replica of this process, or of the picture of all processes.
std::vector<ReplicaReport> replica_reports(const RunFacts& run);

/// The lines of `replicas`.
std::vector<ReplicaReport> reports_of(const RunFacts& run, const Participants& replicas);

/// Some replicas ended, and the rest wait in a merge.
Failure merge_missing(const RunFacts& run);
/// The requests of merge number `round` do not belong together.
Failure merge_mismatch(const RunFacts& run, std::uint64_t round);
/// Merge number `round` threw. An error of a class of belfry without replicas gets the waiting
/// places of all replicas; an exception of the user's stays unchanged.
Failure merge_threw(const RunFacts& run, std::uint64_t round, const MergeRequest& first,
                    const std::exception_ptr& thrown);

/// A replica threw, and no merge had failed before.
Failure replica_threw(const RunFacts& run, const ReplicaState& thrower);
/// A replica had thrown before the failure that `last` reports, and was being unwound. Throws:
/// std::bad_alloc without a last report.
Failure replica_had_thrown(const RunFacts& run, const ReplicaState& thrower,
                           const std::optional<ErrorReport>& last);

/// A replica waits for a variable that no replica will make.
Failure variable_missing(const RunFacts& run);
/// Replicas have made different variables.
Failure variables_differ(const std::exception_ptr& thrown);

/// After `rounds` merges, a replica took no step for `limit_ms` milliseconds, and was left behind.
Failure replica_stalled(const RunFacts& run, int replica, std::uint64_t rounds,
                        std::uint32_t limit_ms);

/// A replica used more stack than it has, as the error of the executor says. The place is the last
/// merge of the replica: stacks are examined after the end of their replicas.
Failure stack_overflowed(const RunFacts& run, const std::exception_ptr& thrown);

/// Replicas have waited for others for `limit_ms` milliseconds, or the run has taken as long.
/// `open`: the operations that have not ended, in words.
Failure run_late(const RunFacts& run, bool in_merge, std::int64_t limit_ms,
                 const std::string& open);

/// The replicas of the run have taken more steps than `bound`.
Failure run_too_long(const RunFacts& run, std::uint64_t bound);

/// Every replica is blocked, and no stream can move.
Failure run_deadlock(const RunFacts& run, std::size_t blocked);

/// Adds the replicas abandoned after the failure.
void add_abandoned(const ReplicaStates& states, ErrorReport& report);

}  // namespace belfry::detail
