// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/tracked_carriers.h"

#include "backend/stack_pool.h"
#include "backend/turn_scheduler.h"
#include "backend/workers.h"
#include "belfry/backend/unwatched.h"

#include <cstdlib>
#include <utility>

namespace belfry::detail {

TrackedCarriers::TrackedCarriers(std::unique_ptr<Carriers> inner, TrackedRun& run)
    : Carriers(inner->reuses()), inner_(std::move(inner)), run_(&run) {}

TurnCarrier& TrackedCarriers::begin(int replicas, bool serial) {
  caller_ = &inner_->begin(replicas, serial);
  running_ = caller_;
  return *caller_;
}

void TrackedCarriers::wake_caller() { static_cast<Worker&>(*caller_).wake.post(); }

bool TrackedCarriers::guards(const void* address) const noexcept {
  const Stack* const stack = running_ == caller_ ? nullptr : inner_->stack_of(*running_);
  return stack != nullptr && detail::guards(*stack, address);
}

// A fiber resumes in the call of switch_to that suspended the fiber: each frame of this function
// begins and ends on the same stack.
BELFRY_UNWATCHED void TrackedCarriers::switch_to(TurnCarrier& from, TurnCarrier& to) {
  pass_turn(to);
  inner_->switch_to(from, to);
  if (&from == caller_) resume_caller();
}

BELFRY_UNWATCHED void TrackedCarriers::leave(TurnCarrier& from, TurnCarrier& to) {
  pass_turn(to);
  inner_->leave(from, to);
}

BELFRY_UNWATCHED void TrackedCarriers::abandon(TurnCarrier& from, TurnCarrier& to) {
  pass_turn(to);
  inner_->abandon(from, to);
  std::abort();  // Not reached; GCC forgets the attribute of virtual functions.
}

void TrackedCarriers::pass_turn(const TurnCarrier& to) {
  const Unwatched unwatched;
  running_ = &to;
  run_->pass_turn(to.replica);
}

// The scheduler orders the caller after the replicas through its own carriers, this object; the
// replicas have released the inner carriers.
void TrackedCarriers::resume_caller() {
  const Unwatched unwatched;
  inner_->order_settling();
  const int left = run_->take_left_behind();
  if (left < 0) return;
  running_ = caller_;
  scheduler_->forsake(left);
}

void carry_tracked(const Executor& executor, const ExecutorParts& parts,
                   std::unique_ptr<Carriers> carriers, Bodies bodies, const CarryOptions& options) {
  TrackedRun run(executor, parts, *stall_watch(), bodies, options);
  auto tracked = std::make_unique<TrackedCarriers>(std::move(carriers), run);
  TrackedCarriers& kept = *tracked;
  TurnScheduler scheduler(executor, run.parts(), std::move(tracked));
  scheduler.number = options.number;
  scheduler.first_replica = options.first_replica;
  kept.attach(scheduler);
  run.announce(&kept);
  scheduler.carry(bodies.replicas, run, options.concurrent);
}

}  // namespace belfry::detail
