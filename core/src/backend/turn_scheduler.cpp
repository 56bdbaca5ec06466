// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/turn_scheduler.h"

#include "backend/stack_pool.h"
#include "belfry/backend/unwatched.h"
#include "belfry/error.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

// The states of a replica, of which one at a time is running:
//
//   new     -> running   its first turn; `start_carrier` gives the replica a stack
//   running -> ready     `step`: the replica gives way
//   running -> blocked   `block_until`: the replica waits in the list of a gate
//   blocked -> ready     `admit`: the gate has opened; `cancel_blocked`: nothing can open it
//   ready   -> running   its turn: Turns, the queue of ready replicas, has drawn the replica
//   running -> ended     `after_body`: the body has returned; `abandon`: the replica gives itself
//                        up; `forsake`: the caller gives up a replica that hangs
//
// `step` and `block_until` switch from the stack of the replica straight to the stack of the next.
// Streams of the backend take their steps on the stack of the caller of `carry`, and there the job
// is asked to go on (`settle`) when no replica is ready. A carrier is a stack: a fiber or a thread.
namespace belfry::detail {
namespace {

// Rare work is kept out of the functions that switch stacks: the frames of blocked replicas stay
// small, and more of the frames fit into a cache.
[[gnu::noinline]] void make_room(std::vector<Gate::Waiter>& waiters) {
  waiters.reserve(std::max<std::size_t>(8, 2 * waiters.size()));
}

[[noreturn, gnu::noinline]] void throw_cancelled(TurnCarrier& carrier) {
  carrier.cancelled = false;
  throw ReplicaCancelled{};
}

bool has_overflowed(const Carriers& kind, const TurnCarrier& carrier) {
  const Stack* const stack = kind.stack_of(carrier);
  return stack != nullptr && overflowed(*stack);
}

void order_resumptions(std::span<const Gate::Waiter> replicas,
                       const std::vector<TurnCarrier*>& carriers) {
  if constexpr (kTsan) {
    for (const Gate::Waiter& waiter : replicas) {
      Carriers::order_resumption(*carriers[static_cast<std::size_t>(waiter.replica)]);
    }
  }
}

}  // namespace

TurnScheduler::TurnScheduler(const Executor& executor, const ExecutorParts& parts,
                             std::unique_ptr<Carriers> carriers)
    : Run(executor),
      parts_(&parts),
      kind_(std::move(carriers)),
      turns_(parts.chooser, parts.agents) {}

TurnScheduler::~TurnScheduler() = default;

void TurnScheduler::carry(int replicas, Job& job, bool concurrent) {
  begin(replicas, job, concurrent);
  const CarrierScope scope(*caller_);
  job.begin();
  TurnCarrier* const first = run_until_replica(turns_.next());
  if (first != nullptr) switch_from(*caller_, first);
  finish();
}

void TurnScheduler::step(Carrier& carrier, const Operation& operation) {
  const bool is_replica = carrier.replica >= 0;
  if (is_replica) {
    const Turn turn = turns_.preempt(carrier.replica);
    const bool stays = turn.kind == Turn::Kind::kReplica &&
                       turn.index == static_cast<std::uint32_t>(carrier.replica);
    if (!stays) switch_from(static_cast<TurnCarrier&>(carrier), &carrier_of(turn));
  } else {
    Turn turn = turns_.preempt_caller();
    for (; turn.kind == Turn::Kind::kAgent; turn = turns_.preempt_caller()) {
      parts_->agents->run(turn.index);
    }
  }
  announce(operation);
}

// Flattened, that is, with all calls inlined: a merge is one `block_until` for each replica.
[[gnu::flatten]] void TurnScheduler::block_until(Carrier& replica, const Operation& operation,
                                                 Gate& gate) {
  auto& carrier = static_cast<TurnCarrier&>(replica);
  announce(operation);
  std::vector<Gate::Waiter>& waiters = gate.waiters();
  if (waiters.size() == waiters.capacity()) [[unlikely]] {
    make_room(waiters);
  }
  // No wakeup is lost. The replica has seen the gate closed and enters the list in the same turn,
  // and a gate is opened by an agent in a turn of its own: before this turn, or after the entry.
  waiters.push_back({this, carrier.replica});
  carrier.gate = &gate;
  switch_from(carrier, &carrier_of(next_turn()));
  if (carrier.cancelled) [[unlikely]] {
    throw_cancelled(carrier);
  }
}

void TurnScheduler::admit(std::span<const Gate::Waiter> replicas) {
  order_resumptions(replicas, carriers_);
  turns_.admit(replicas.data(), replicas.size());
}

void TurnScheduler::abandon(Carrier& replica) {
  auto& carrier = static_cast<TurnCarrier&>(replica);
  TurnCarrier* next = nullptr;
  {
    const Unwatched unwatched;
    next = &carrier_of(end(carrier));
  }
  kind_->abandon(carrier, *next);
  std::abort();  // Not reached; GCC forgets the attribute of virtual functions.
}

void TurnScheduler::forsake(int replica) {
  carriers_[static_cast<std::size_t>(replica)] = nullptr;
  callers_turn_ = turns_.next();
}

// On the caller's stack.

// Takes all the memory that the run itself needs: once replicas have started, `carry` cannot throw
// before their end.
void TurnScheduler::begin(int replicas, Job& job, bool concurrent) {
  job_ = &job;
  overflowed_ = -1;
  failure_ = nullptr;
  carriers_.assign(static_cast<std::size_t>(replicas), nullptr);
  blocked_.clear();
  blocked_.reserve(carriers_.size());
  turns_.begin(replicas, !concurrent);
  caller_ = &kind_->begin(replicas, !concurrent);
  static_cast<Carrier&>(*caller_) = {this, -1, nullptr};
  callers_state_ = ThreadState::current();
}

// Runs streams, and asks the job to go on, until a replica has the turn. Returns the replica's
// carrier, or null at the end of the run.
[[gnu::flatten]] TurnCarrier* TurnScheduler::run_until_replica(Turn turn) {
  for (;;) {
    turn = run_agents(turn);
    if (turn.kind == Turn::Kind::kReplica) return &carrier_of(turn);
    switch (settle()) {
      case Job::Settled::kFinished:
        return nullptr;
      case Job::Settled::kResumed:
        break;
      case Job::Settled::kWaiting:
        const bool is_deadlock = !wait_for_agents();
        const bool can_go_on = !is_deadlock || cancel_blocked();
        if (!can_go_on) return nullptr;
        break;
    }
    turn = turns_.next();
  }
}

// Returns the first turn that no stream has.
Turn TurnScheduler::run_agents(Turn turn) {
  for (; turn.kind == Turn::Kind::kAgent; turn = turns_.next()) run_agent(turn.index);
  return turn;
}

// Keeps an exception for `finish`: the stacks of suspended replicas are unwound first.
[[gnu::noinline]] void TurnScheduler::run_agent(std::uint32_t which) {
  try {
    parts_->agents->run(which);
  } catch (...) {
    if (failure_ == nullptr) failure_ = std::current_exception();
  }
}

// Asks the job to go on. If the job says that replicas can, and none is ready, the run waits for
// streams.
Job::Settled TurnScheduler::settle() {
  kind_->order_settling();
  Job::Settled settled;
  {
    const Watched users_code;
    settled = job_->settle();
  }
  return settled == Job::Settled::kResumed && turns_.empty() ? Job::Settled::kWaiting : settled;
}

// Runs agents until a replica can go on. False if no agent can take a step.
[[gnu::noinline]] bool TurnScheduler::wait_for_agents() {
  while (turns_.empty()) {
    const Turn turn = turns_.wait();
    if (turn.kind == Turn::Kind::kNobody) return false;
    run_agent(turn.index);
  }
  return true;
}

// Ends a deadlock: makes every blocked replica ready again, to throw ReplicaCancelled. False if no
// replica is blocked. The replicas leave the lists of their gates, which would else wake them a
// second time.
[[gnu::noinline]] bool TurnScheduler::cancel_blocked() {
  blocked_.clear();
  for (std::size_t i = 0; i < carriers_.size(); ++i) {
    if (carriers_[i] != nullptr) blocked_.push_back(static_cast<int>(i));
  }
  job_->deadlock(blocked_);
  if (blocked_.empty()) {
    fail_without_replicas();
    return false;
  }
  for (const int id : blocked_) {
    TurnCarrier& carrier = *carriers_[static_cast<std::size_t>(id)];
    carrier.cancelled = true;
    std::erase_if(carrier.gate->waiters(),
                  [&](const Gate::Waiter& waiter) { return waiter.run == this; });
    Carriers::order_resumption(carrier);
  }
  turns_.admit(blocked_);
  return true;
}

void TurnScheduler::fail_without_replicas() {
  if (failure_ != nullptr) return;
  try {
    throw InternalError(ErrorCode::kInternal, "a run waits, but no replica is left");
  } catch (...) {
    failure_ = std::current_exception();
  }
}

void TurnScheduler::finish() {
  kind_->end();
  if (failure_ != nullptr) std::rethrow_exception(failure_);
  if (overflowed_ < 0) return;
  const int replica = first_replica + overflowed_;
  throw DeviceError({.code = ErrorCode::kStackOverflow,
                     .summary = "replica " + std::to_string(replica) +
                                " used more stack than the " +
                                std::to_string(parts_->stack_bytes >> 10) + " KiB it has",
                     .site = {},
                     .replicas = {{replica, {}, "used more stack than it has"}},
                     .expected = {},
                     .hint = "keep large data on the heap, or ask for larger stacks"});
}

// On the stack that gives up its turn.

// Returns when `here` has its next turn; for the caller, at the end of the run. All carriers are
// suspended and resumed at the one call of switch_to: the processor predicts a return by the call
// that it saw last, and that call is then the right one on every stack.
[[gnu::noinline]] void TurnScheduler::switch_from(TurnCarrier& here, TurnCarrier* next) {
  do {
    kind_->switch_to(here, *next);
  } while (&here == caller_ && (next = run_until_replica(callers_turn_)) != nullptr);
}

Turn TurnScheduler::next_turn() {
  const Turn turn = turns_.next();
  if (turns_.looks_ahead()) [[unlikely]] {
    kind_->prefetch(turns_, carriers_);
  }
  return turn;
}

// The carrier that executes `turn`: the replica's, or the caller for an agent and for nobody.
TurnCarrier& TurnScheduler::carrier_of(Turn turn) {
  if (turn.kind != Turn::Kind::kReplica) {
    callers_turn_ = turn;
    return *caller_;
  }
  TurnCarrier* const carrier = carriers_[turn.index];
  if (carrier == nullptr) [[unlikely]] {
    return start_carrier(turn.index);
  }
  return *carrier;
}

[[gnu::noinline]] TurnCarrier& TurnScheduler::start_carrier(std::uint32_t replica) {
  TurnCarrier& carrier = kind_->start(static_cast<int>(replica), &TurnScheduler::execute_bodies);
  static_cast<Carrier&>(carrier) = {this, static_cast<int>(replica), caller_};
  carriers_[replica] = &carrier;
  return carrier;
}

void TurnScheduler::announce(const Operation& operation) {
  if (parts_->sink != nullptr) parts_->sink->on_operation(operation);
}

// On the carriers of replicas.

// Runs bodies on one stack: the body of the carrier's replica, then bodies of new replicas while
// the stack is reused. The run may be over as soon as `leave` has resumed the next carrier, so that
// nothing of the run is touched afterwards.
void TurnScheduler::execute_bodies(TurnCarrier& carrier) {
  Departure departure{nullptr, nullptr};
  while (departure.next == nullptr) {
    const Body body = start_body(carrier);
    body.job->body(body.replica);
    departure = after_body(carrier);
  }
  departure.kind->leave(carrier, *departure.next);
}

TurnScheduler::Body TurnScheduler::start_body(TurnCarrier& carrier) {
  const Unwatched unwatched;
  current = {nullptr, &carrier};
  auto& run = static_cast<TurnScheduler&>(*carrier.run);
  run.announce(
      {.kind = OperationKind::kStart, .agent = {AgentId::Kind::kReplica, carrier.replica}});
  run.callers_state_.restore();
  return {run.job_, carrier.replica};
}

// Returns no next carrier if the next turn is that of a new replica, which then runs on the same
// stack.
TurnScheduler::Departure TurnScheduler::after_body(TurnCarrier& carrier) {
  const Unwatched unwatched;
  auto& run = static_cast<TurnScheduler&>(*carrier.run);
  Carriers& kind = *run.kind_;
  const Turn turn = run.end(carrier);
  const bool starts_body =
      turn.kind == Turn::Kind::kReplica && run.carriers_[turn.index] == nullptr;
  const bool is_reused = starts_body && kind.reuses() && !has_overflowed(kind, carrier);
  if (!is_reused) return {&kind, &run.carrier_of(turn)};
  carrier.replica = static_cast<int>(turn.index);
  run.carriers_[turn.index] = &carrier;
  return {&kind, nullptr};
}

// The next turn after the end of the body on `carrier`.
Turn TurnScheduler::end(TurnCarrier& carrier) {
  if (has_overflowed(*kind_, carrier) && overflowed_ < 0) overflowed_ = carrier.replica;
  carriers_[static_cast<std::size_t>(carrier.replica)] = nullptr;
  return next_turn();
}

}  // namespace belfry::detail
