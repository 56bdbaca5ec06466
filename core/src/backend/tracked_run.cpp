// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/tracked_run.h"

#include "backend/carrier.h"
#include "backend/tracked_carriers.h"
#include "belfry/backend/unwatched.h"

namespace belfry::detail {
namespace {

using State = ReplicaProgress::State;

}  // namespace

TrackedRun::TrackedRun(const Executor& executor, const ExecutorParts& parts, StallWatch& watch,
                       Bodies bodies, const CarryOptions& options, int turn)
    : RunProgress({.carrier = executor.name(),
                   .site = submitting_site(),
                   .first_replica = options.first_replica,
                   .stack_bytes = executor.name() == "fiber" ? parts.stack_bytes : 0,
                   .caller = ::pthread_self()},
                  bodies.replicas),
      executor_(executor),
      parts_(parts),
      tracked_(parts),
      watch_(watch),
      job_(bodies.job) {
  tracked_.sink = this;
  if (parts.agents != nullptr) tracked_.agents = this;
  set_turn(turn);
}

TrackedRun::~TrackedRun() {
  if (has_begun_) watch_.run_ended(*this);
}

void TrackedRun::announce(TrackedCarriers* carriers) {
  carriers_ = carriers;
  watch_.run_began(*this);
  has_begun_ = true;
}

void TrackedRun::pass_turn(int position) {
  if (position >= 0 && replica(position).state == State::kAtDevice) {
    replica(position).state = State::kRunning;
  }
  set_turn(position);
  watch_.count_move();
}

int TrackedRun::take_left_behind() {
  const int left = left_behind_.exchange(-1);
  if (left >= 0) {
    replica(left).state = State::kLeftBehind;
    job_.stalled(left, limit_ms_);
  }
  return left;
}

bool TrackedRun::is_below_stack(const void* address) const noexcept {
  return turn() >= 0 && carriers_ != nullptr && carriers_->guards(address);
}

bool TrackedRun::can_leave_behind() const {
  return turn() >= 0 && carriers_ != nullptr && carriers_->are_threads();
}

void TrackedRun::leave_behind(std::uint32_t limit_ms) {
  limit_ms_ = limit_ms;
  left_behind_ = turn();
  carriers_->wake_caller();
}

void TrackedRun::on_operation(const Operation& operation) {
  const Carrier* const carrier = carrier_on(executor_);
  const int position = carrier == nullptr ? -1 : carrier->replica;
  if (position >= 0) note(replica(position), operation);
  if (position >= 0 && turn() != kAll) set_turn(position);
  watch_.count_move();
  if (parts_.sink != nullptr) parts_.sink->on_operation(operation);
}

void TrackedRun::note(ReplicaProgress& replica, const Operation& operation) {
  replica.state = State::kRunning;
  if (operation.kind == OperationKind::kStart) {
    replica.thread = ::pthread_self();
  } else if (operation.kind == OperationKind::kArrive) {
    replica.state = State::kAtMerge;
    replica.merges = operation.subject;
    replica.site = operation.site;
  } else if (operation.kind == OperationKind::kHostWait) {
    replica.state = State::kAtDevice;
  }
}

void TrackedRun::run(std::uint32_t which) {
  watch_.count_move();
  parts_.agents->run(which);
}

void TrackedRun::body(int position) noexcept {
  job_.body(position);
  const Unwatched unwatched;
  replica(position).state = State::kEnded;
  watch_.count_move();
}

Job::Settled TrackedRun::settle() noexcept {
  const int before = turn();
  set_turn(kCaller);
  const Settled settled = job_.settle();
  if (settled == Settled::kResumed) {
    for (ReplicaProgress& replica : all()) {
      if (replica.state == State::kAtMerge) replica.state = State::kRunning;
    }
  }
  set_turn(before);
  watch_.count_move();
  return settled;
}

}  // namespace belfry::detail
