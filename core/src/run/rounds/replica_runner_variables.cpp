// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Variables made by replicas in a run.
#include "belfry/backend/witness.h"
#include "run/rounds/replica_runner.h"

#include <utility>

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
    const bool is_alone = core().members().is_alone();
    std::shared_ptr<void> made = is_alone ? make() : make_with_members(replica, request, make);
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

// The processes exchange the variable while no replica runs: groups are for the caller's thread.
std::shared_ptr<void> ReplicaRunner::make_with_members(int replica, const VariableRequest& request,
                                                       FunctionRef<std::shared_ptr<void>()> make) {
  make_ = &make;
  pause(replica, ReplicaState::Status::kMaking, request.site, maker_);
  if (make_failed_ != nullptr) std::rethrow_exception(std::exchange(make_failed_, nullptr));
  return std::exchange(made_, nullptr);
}

void ReplicaRunner::serve_maker() {
  if (!has_failed()) {
    const CurrentScope scope(cross_current_);
    try {
      made_ = (*make_)();
    } catch (...) {
      make_failed_ = std::current_exception();
    }
  }
  has_failed() ? open_all() : executor_.open(maker_);
}

void ReplicaRunner::touch(int replica, OperationKind kind, const VariableInfo& variable,
                          CallSite site) {
  // A destructor may restore a component, and cannot let an exception out.
  if (is_being_unwound()) return;
  require_alive(replica);
  if (max_steps_ != 0 && executor_.name() != "concurrent") [[unlikely]] {
    count_steps(1);
    require_alive(replica);
  }
  executor_.step({.kind = kind,
                  .agent = agent_of(replica),
                  .subject = variable.number,
                  .value = ordinal_,
                  .site = site,
                  .name = variable.name});
  require_alive(replica);
}

void ReplicaRunner::seek(int replica, const VariableRequest& request) {
  state(replica).sought = &request;
  pause(replica, ReplicaState::Status::kSeeking, request.site, seekers_);
}

void ReplicaRunner::pause(int replica, ReplicaState::Status status, CallSite site, Gate& gate) {
  ReplicaState& own = state(replica);
  publish(own.status, status);
  try {
    executor_.block_until({.kind = OperationKind::kWait,
                           .agent = agent_of(replica),
                           .subject = own.merges,
                           .value = ordinal_,
                           .site = site},
                          gate);
  } catch (...) {
    publish(own.status, ReplicaState::Status::kRunning);
    throw;
  }
  publish(own.status, ReplicaState::Status::kRunning);
  require_alive(replica);
}

// All replicas are paused or ended, and some wait for a variable. If replicas run side by side, the
// first replica may have made the variable between the seeker's look and its pause. Otherwise no
// replica will ever make the variable.
void ReplicaRunner::serve_seekers() {
  if (!has_failed() && !is_sought_made()) {
    if (const ReplicaState* const thrower = states_.find(ReplicaState::Status::kThrew)) {
      fail_by(*thrower);
    } else {
      fail_for_seekers();
    }
  }
  has_failed() ? open_all() : executor_.open(seekers_);
}

bool ReplicaRunner::is_sought_made() const {
  try {
    return std::ranges::any_of(states_, [this](const ReplicaState& seeker) {
      return seeker.status == ReplicaState::Status::kSeeking &&
             variables_.has(states_.id_of(seeker), *seeker.sought);
    });
  } catch (...) {
    return true;  // The replica that asks again gets the error.
  }
}

}  // namespace belfry::detail
