// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Runs of a strategy of several processes: the exchange between the arrival of all replicas of this
// process and the merge (SEM-151).
#include "belfry/detail/process_exchange.h"
#include "run/processes/run_picture.h"
#include "run/rounds/replica_runner.h"
#include "run/rounds/run_report.h"

#include <exception>
#include <utility>

namespace belfry::detail {

void ReplicaRunner::run_among_processes(ProcessExchange& processes, const RunOptions& options) {
  if (nested_) core().require_one_process("a run inside a run", options.site);
  processes.begin_run();
  try {
    carry_out(options);
  } catch (...) {
    // For any reason of the failure, the other processes wait for this process in their next
    // exchange.
    const bool is_replica = blamed_ >= 0 && blamed_ < core().size();
    const int speaker = is_replica ? blamed_ : present_.id(0);
    const CallSite last = state(speaker).last_site;
    const std::exception_ptr cause = processes.tell_failure(
        std::current_exception(), is_replica ? blamed_ : -1, last.empty() ? options.site : last);
    processes.end_run();
    std::rethrow_exception(cause);
  }
  processes.end_run();
}

bool ReplicaRunner::agree_with_processes() {
  ProcessExchange& processes = *core().processes();
  try {
    const RunFacts own{states_, requests_, present_};
    const auto describe = [&own] { return describe_round(own); };
    const RoundSummary summary(own, digest_);
    if (summary.state() == RoundState::kArrived) {
      const MergeRequest& merge = *requests_[static_cast<std::size_t>(present_.id(0))];
      processes.group().name_call(to_string(merge.type->kind), merge.site);
    } else if (summary.state() == RoundState::kReturned) {
      processes.group().name_call("the end of a run", site_);
    }
    const std::vector<Bytes> summaries = processes.round_unless_equal(summary.bytes(), describe);
    switch (summaries.empty() ? summary.state() : RoundSummary::common_state(summaries)) {
      case RoundState::kReturned:
        processes.close();
        return false;
      case RoundState::kArrived:
        return true;
      case RoundState::kMixed:
        break;
    }
    // Some process differs: every process sees the difference, and tells all about its replicas.
    return agree_on_round(processes, processes.round(describe(), describe), rounds_ + 1);
  } catch (...) {
    fail_with_processes(std::current_exception());
    return false;
  }
}

}  // namespace belfry::detail
