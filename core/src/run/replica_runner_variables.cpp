// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Variables that replicas make in a run.
#include "belfry/detail/replica_runner.h"

namespace belfry::detail {

// The first replica that takes part, usually replica 0, never waits. Another
// that is ahead of it pauses at a gate of its own, so that its request does not
// count as the arrival at a merge.
std::shared_ptr<void> ReplicaRunner::make_variable(int replica, const VariableRequest& request,
                                                   FunctionRef<std::shared_ptr<void>()> make) {
  require_alive(replica);
  if (unnamed_) [[unlikely]] {
    unnamed_->reach(replica, request);
  }
  if (replica == present_.id(0)) {
    std::shared_ptr<void> made = make();
    variables_.add(request, made);
    executor_.open(seekers_);
    return made;
  }
  for (;;) {
    if (std::shared_ptr<void> made = variables_.take(replica, request)) return made;
    seek(replica, request);
  }
}

void ReplicaRunner::seek(int replica, const VariableRequest& request) {
  ReplicaState& own = state(replica);
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

// All replicas are paused or ended, some for a variable. The first may have
// made it between the look and the pause of a replica that runs beside it;
// otherwise nobody will ever make it.
void ReplicaRunner::serve_seekers() {
  bool found = has_failed();
  try {
    for (const ReplicaState& seeker : states_) {
      if (found) break;
      if (seeker.status != ReplicaState::Status::kSeeking) continue;
      found = variables_.has(states_.id_of(seeker), *seeker.sought);
    }
  } catch (...) {
    found = true;  // The replica that asks again gets the error.
  }
  if (!found) {
    if (const ReplicaState* const thrower = states_.find(ReplicaState::Status::kThrew)) {
      fail_by(*thrower);
    } else {
      fail_for_seekers();
    }
  }
  executor_.open(seekers_);
  if (has_failed()) executor_.open(gate_);
}

}  // namespace belfry::detail
