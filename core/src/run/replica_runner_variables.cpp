// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/replica_runner.h"
#include "run/exception_text.h"

#include <mutex>
#include <utility>

namespace belfry::detail {

// The first replica that takes part, usually replica 0, never waits. Another that is ahead of it
// pauses at a gate of its own, so that its request does not count as the arrival at a merge.
std::shared_ptr<void> ReplicaRunner::make_variable(int replica, const VariableRequest& request,
                                                   FunctionRef<std::shared_ptr<void>()> make) {
  require_alive(replica);
  if (unnamed_) [[unlikely]] {
    unnamed_->reach(replica, request);
  }
  if (replica == present_.id(0)) {
    std::shared_ptr<void> made = make();
    {
      const std::lock_guard lock(variables_mutex_);
      if (!variables_) variables_.emplace(core().size(), present_.id(0));
      variables_->add(request, made);
    }
    executor_.open(seekers_);
    return made;
  }
  ReplicaState& own = state(replica);
  for (;;) {
    {
      const std::lock_guard lock(variables_mutex_);
      if (!variables_) variables_.emplace(core().size(), present_.id(0));
      if (const MadeVariable* variable = variables_->find(replica, request)) {
        variables_->take(replica, request);
        return variable->state;
      }
    }
    own.sought = &request;
    own.status = ReplicaState::Status::kSeeking;
    try {
      executor_.block_until({.kind = OperationKind::kWait,
                             .agent = {AgentId::Kind::kReplica, replica},
                             .subject = own.merges,
                             .value = ordinal_,
                             .site = request.site},
                            seekers_);
    } catch (...) {
      own.status = ReplicaState::Status::kRunning;
      throw;
    }
    own.status = ReplicaState::Status::kRunning;
    require_alive(replica);
  }
}

// All replicas are paused or ended, some for a variable. The first may have made it between the
// look and the pause of a replica that runs beside it; otherwise nobody will ever make it.
void ReplicaRunner::serve_seekers() {
  bool found = has_failed();
  try {
    for (std::size_t replica = 0; replica < states_.size() && !found; ++replica) {
      if (states_[replica].status != ReplicaState::Status::kSeeking) continue;
      found = variables_ &&
              variables_->find(static_cast<int>(replica), *states_[replica].sought) != nullptr;
    }
  } catch (...) {
    found = true;  // The replica that asks again gets the error.
  }
  if (!found && !record_own_exceptions()) {
    fail_for_seekers();
  }
  executor_.open(seekers_);
  if (has_failed()) executor_.open(gate_);
}

void ReplicaRunner::fail_for_seekers() {
  fail_as(nullptr, [this] {
    ErrorReport report;
    report.code = ErrorCode::kVariableMismatch;
    report.summary = "a replica asked for a variable that replica " +
                     std::to_string(present_.id(0)) + " does not make";
    report.replicas = replica_reports();
    report.expected = "every replica makes the same variables";
    report.hint = "make variables outside branches that depend on the replica";
    std::exception_ptr error = exception_of(report);
    fail(std::move(error), std::move(report));
  });
}

bool ReplicaRunner::check_variables() {
  try {
    variables_->require_equal_counts(present_);
    return true;
  } catch (...) {
    const std::exception_ptr thrown = std::current_exception();
    fail_as(thrown, [&] { fail(thrown, report_of(thrown)); });
    return false;
  }
}

}  // namespace belfry::detail
