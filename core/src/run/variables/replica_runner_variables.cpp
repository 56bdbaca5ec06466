// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Variables made by replicas in a run.
#include "belfry/backend/witness.h"
#include "run/rounds/replica_runner.h"

namespace belfry::detail {

// The first participating replica, usually replica 0, makes the variable and never waits. A replica
// ahead of it pauses at a separate gate: its request is not an arrival at a merge.
std::shared_ptr<void> ReplicaRunner::make_variable(int replica, const VariableRequest& request,
                                                   FunctionRef<std::shared_ptr<void>()> make) {
  require_alive(replica);
  if (unnamed_) [[unlikely]] {
    unnamed_->reach(replica, request);
  }
  if (replica == present_.id(0)) {
    std::shared_ptr<void> made = make();
    if (auto* const witness = dynamic_cast<VariableWitness*>(&executor_)) witness->made(made.get());
    variables_.add(request, made);
    executor_.open(seekers_);
    return made;
  }
  for (;;) {
    if (std::shared_ptr<void> made = variables_.take(replica, request)) {
      if (auto* const witness = dynamic_cast<VariableWitness*>(&executor_)) {
        witness->taken(made.get());
      }
      return made;
    }
    seek(replica, request);
  }
}

void ReplicaRunner::seek(int replica, const VariableRequest& request) {
  ReplicaState& own = state(replica);
  own.sought = &request;
  own.status = ReplicaState::Status::kSeeking;
  try {
    executor_.block_until({.kind = OperationKind::kWait,
                           .agent = agent_of(replica),
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

// All replicas are paused or ended, and some wait for a variable. If replicas run side by side, the
// first replica may have made the variable between the seeker's look and its pause. Otherwise no
// replica will ever make the variable.
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
