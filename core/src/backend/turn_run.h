// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/carrier.h"
#include "backend/sanitizers.h"
#include "backend/turns.h"
#include "belfry/backend/unwatched.h"
#include "belfry/error.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace belfry::detail {

/// One call of `carry` in which one carrier at a time runs. Who runs is decided by Turns; how it
/// comes to run is the business of `Carriage`, which has
///   Place: somewhere execution can be left and resumed, with `detour` for this class: whether who
///     is resumed there has more to do than to return;
///   Seat:  a Carrier and a Place, with `gate` for this class;
///   kShares: whether a seat whose body has ended may go on with another replica's body;
///   begin(replicas), end(): around each run; may throw before anything has started;
///   seat(replica, live): a seat on which a first switch calls `live(seat)`;
///   switch_to(from, to): returns when somebody switches back to `from`;
///   retire(seat): nothing runs on it after the caller's next `leave`;
///   leave(seat, to), forsake(seat, to): for good; the latter with frames still on the stack;
///   fetch(seat): begins to load a seat, or null, that comes to run soon;
///   fetch_frames(seat): begins to load what such a seat continues with;
///   healthy(seat): false when the seat's stack was not enough.
/// A switch happens on the stack of whoever gives up its turn, straight to the next one's: the
/// caller's stack is visited only to settle and to let other agents take steps.
template <class Carriage>
class TurnRun final : public Run {
 public:
  using Place = typename Carriage::Place;
  using Seat = typename Carriage::Seat;

  template <class Resources>
  TurnRun(const Executor& executor, const ExecutorParts& parts, Resources& resources)
      : Run(executor), parts_(&parts), carriage_(resources) {}

  void carry(int replicas, Job& job, bool concurrent);

  void step(Carrier& carrier, const Operation& operation) override;
  void block_until(Carrier& replica, const Operation& operation, Gate& gate) override;
  void admit(std::span<const Gate::Waiter> replicas) override;
  [[noreturn]] void abandon(Carrier& replica) override;

 private:
  static void live(Seat& seat);
  Turn end(Seat& seat);
  void pass_turn(Place& here, Place* next);
  Place* take_detour(Place& here);
  Place* next_place(Turn turn);
  bool wait_for_agents();
  void run_agent(std::uint32_t which);
  Job::Settled settle(Job& job);
  bool cancel_blocked(Job& job);
  void fail_without_replicas();
  void finish();

  // The serial schedule is a promise: what comes later in it may build on what came before.
  void follow_others() {
    if (kTsan && serial_) tsan_acquire(&seats_);
  }

  void announce(const Operation& operation) {
    if (parts_->sink != nullptr) parts_->sink->on_operation(operation);
  }

  Turn next_turn() {
    const Turn turn = turns_.next();
    if (turns_.looks_ahead()) [[unlikely]] {
      fetch_ahead();
    }
    return turn;
  }

  // Begins to load what is needed some turns from now: first where the seat is, then the seat, then
  // the frames that wait on its stack, each when the one before has arrived. Seats several at a
  // time: each is on a page of its own, for whose address the processor waits, but for all of them
  // at once.
  // Inlined: GCC takes a function that only prefetches for one without effect, and drops the call.
  [[gnu::always_inline]] void fetch_ahead() {
    constexpr std::size_t kFrames = 4;
    constexpr std::size_t kSeats = 8;
    constexpr std::size_t kPointers = 12;
    constexpr std::size_t kBatch = 4;
    const int near = turns_.ahead(kFrames);
    if (near >= 0) carriage_.fetch_frames(seats_[static_cast<std::size_t>(near)]);
    if (turn_++ % kBatch != 0) return;
    for (std::size_t k = 0; k < kBatch; ++k) {
      const int middle = turns_.ahead(kSeats + k);
      const int far = turns_.ahead(kPointers + k);
      if (middle >= 0) carriage_.fetch(seats_[static_cast<std::size_t>(middle)]);
      if (far >= 0) __builtin_prefetch(static_cast<const void*>(seats_.data() + far));
    }
  }

  // Where to go for `turn`: to a replica, or to the caller for everything else.
  Place& place_of(Turn turn) {
    if (turn.kind != Turn::Kind::kReplica) {
      back_ = turn;
      return caller_place_;
    }
    Seat* const seat = seats_[turn.index];
    if (seat == nullptr) [[unlikely]] {
      return new_seat(turn.index);
    }
    return *seat;
  }
  // What is rare stands apart, so that the frames of waiting replicas stay small: as many of them
  // as possible should fit into a cache.
  [[gnu::noinline]] Seat& new_seat(std::uint32_t replica) {
    Seat& seat = carriage_.seat(static_cast<int>(replica), &TurnRun::live);
    seat.run = this;
    seat.outer = &caller_;
    seats_[replica] = &seat;
    return seat;
  }
  [[gnu::noinline]] static void make_room(std::vector<Gate::Waiter>& waiters) {
    waiters.reserve(std::max<std::size_t>(8, 2 * waiters.size()));
  }

  const ExecutorParts* parts_;
  Carriage carriage_;
  Turns turns_;
  std::vector<Seat*> seats_;  // Null before a body starts and after it ended.
  std::vector<int> blocked_;  // While they are cancelled; has room for all.
  Job* job_ = nullptr;
  Carrier caller_;
  Place caller_place_;
  Turn back_;                   // Why the caller was switched to.
  bool serial_ = false;         // Asked for by the caller.
  std::uint32_t turn_ = 0;      // Counts for `fetch_ahead`.
  int overflowed_ = -1;         // The first replica whose stack was too small.
  std::exception_ptr failure_;  // The first one of an agent.
};

// Whoever gives up its turn, a replica or the caller, is left and resumed at this one switch. What
// returns on the one stack then returns to where the processor saw a call on the other, and what
// the caller does instead hangs on a branch, which the processor learns to predict.
template <class Carriage>
[[gnu::noinline]] void TurnRun<Carriage>::pass_turn(Place& here, Place* next) {
  do {
    const Unwatched unwatched;
    carriage_.switch_to(here, *next);
  } while (here.detour && (next = take_detour(here)) != nullptr);
}

// Apart, so that the frames of waiting replicas stay small.
template <class Carriage>
[[gnu::noinline]] typename Carriage::Place* TurnRun<Carriage>::take_detour(Place& here) {
  if (&here == &caller_place_) return next_place(back_);
  here.detour = false;
  tsan_acquire(&static_cast<Seat&>(here));
  follow_others();
  throw ReplicaCancelled{};
}

// On the caller's stack: other agents take their turns and the job settles until it is a replica's
// turn, whose place it is; null when the run is over.
template <class Carriage>
typename Carriage::Place* TurnRun<Carriage>::next_place(Turn turn) {
  for (;;) {
    {
      const Unwatched unwatched;
      for (; turn.kind == Turn::Kind::kAgent; turn = turns_.next()) run_agent(turn.index);
      if (turn.kind == Turn::Kind::kReplica) return &place_of(turn);
      tsan_acquire(&seats_);
    }
    const Job::Settled settled = settle(*job_);
    if (settled == Job::Settled::kFinished) return nullptr;
    if (settled == Job::Settled::kWaiting && !wait_for_agents() && !cancel_blocked(*job_)) {
      return nullptr;
    }
    const Unwatched unwatched;
    turn = turns_.next();
  }
}

template <class Carriage>
void TurnRun<Carriage>::carry(int replicas, Job& job, bool concurrent) {
  Turn turn;
  {
    const Unwatched unwatched;
    job_ = &job;
    overflowed_ = -1;
    failure_ = nullptr;
    seats_.assign(static_cast<std::size_t>(replicas), nullptr);
    // All the memory that the run needs by itself: replicas on stacks cannot be left behind.
    blocked_.clear();
    blocked_.reserve(seats_.size());
    serial_ = !concurrent;
    turns_.begin(replicas, concurrent ? parts_->chooser : nullptr, parts_->agents);
    carriage_.begin(replicas);
    caller_ = {this, -1, nullptr};
    caller_place_.detour = true;
    turn = turns_.next();
  }
  const CarrierScope scope(caller_);
  Place* const first = next_place(turn);
  if (first != nullptr) pass_turn(caller_place_, first);
  finish();
}

template <class Carriage>
void TurnRun<Carriage>::finish() {
  const Unwatched unwatched;
  carriage_.end();
  if (failure_ != nullptr) std::rethrow_exception(failure_);
  if (overflowed_ < 0) return;
  throw DeviceError({.code = ErrorCode::kStackOverflow,
                     .summary = "replica " + std::to_string(overflowed_) +
                                " used more stack than the " +
                                std::to_string(parts_->stack_bytes >> 10) + " KiB it has",
                     .site = {},
                     .replicas = {},
                     .expected = {},
                     .hint = "keep large data on the heap, or ask for larger stacks"});
}

template <class Carriage>
Job::Settled TurnRun<Carriage>::settle(Job& job) {
  const Job::Settled settled = job.settle();
  // Nobody can go on, so that waiting is what is left.
  const Unwatched unwatched;
  return settled == Job::Settled::kResumed && turns_.empty() ? Job::Settled::kWaiting : settled;
}

template <class Carriage>
bool TurnRun<Carriage>::wait_for_agents() {
  const Unwatched unwatched;
  while (turns_.empty()) {
    const Turn turn = turns_.wait();
    if (turn.kind == Turn::Kind::kNobody) return false;
    run_agent(turn.index);
  }
  return true;
}

template <class Carriage>
void TurnRun<Carriage>::run_agent(std::uint32_t which) {
  try {
    parts_->agents->run(which);
  } catch (...) {
    // Replicas are suspended: their stacks must be unwound before anybody hears of this.
    if (failure_ == nullptr) failure_ = std::current_exception();
  }
}

template <class Carriage>
bool TurnRun<Carriage>::cancel_blocked(Job& job) {
  const Unwatched unwatched;
  blocked_.clear();
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    if (seats_[i] != nullptr) blocked_.push_back(static_cast<int>(i));
  }
  job.deadlock(blocked_);
  if (blocked_.empty()) {
    fail_without_replicas();
    return false;
  }
  for (const int id : blocked_) {
    Seat& seat = *seats_[static_cast<std::size_t>(id)];
    seat.detour = true;
    std::erase_if(seat.gate->waiters(),
                  [&](const Gate::Waiter& waiter) { return waiter.run == this; });
    tsan_release(&seat);
  }
  turns_.admit(blocked_);
  return true;
}

template <class Carriage>
void TurnRun<Carriage>::fail_without_replicas() {
  if (failure_ != nullptr) return;
  try {
    throw InternalError(ErrorCode::kInternal, "a run waits, but no replica is left");
  } catch (...) {
    failure_ = std::current_exception();
  }
}

template <class Carriage>
void TurnRun<Carriage>::step(Carrier& carrier, const Operation& operation) {
  const Unwatched unwatched;
  if (carrier.replica >= 0) {
    const Turn turn = turns_.preempt(carrier.replica);
    const bool stays = turn.kind == Turn::Kind::kReplica &&
                       turn.index == static_cast<std::uint32_t>(carrier.replica);
    if (!stays) pass_turn(static_cast<Seat&>(carrier), &place_of(turn));
  } else {
    for (Turn turn = turns_.preempt_caller(); turn.kind == Turn::Kind::kAgent;
         turn = turns_.preempt_caller()) {
      parts_->agents->run(turn.index);
    }
  }
  announce(operation);
}

template <class Carriage>
void TurnRun<Carriage>::block_until(Carrier& replica, const Operation& operation, Gate& gate) {
  const Unwatched unwatched;
  auto& seat = static_cast<Seat&>(replica);
  announce(operation);
  std::vector<Gate::Waiter>& waiters = gate.waiters();
  if (waiters.size() == waiters.capacity()) [[unlikely]] {
    make_room(waiters);
  }
  waiters.push_back({this, seat.replica});
  seat.gate = &gate;
  tsan_release(&seats_);
  pass_turn(seat, &place_of(next_turn()));
  tsan_acquire(&seat);
  follow_others();
}

template <class Carriage>
void TurnRun<Carriage>::admit(std::span<const Gate::Waiter> replicas) {
  const Unwatched unwatched;
  if constexpr (kTsan) {
    for (const Gate::Waiter& waiter : replicas) {
      tsan_release(seats_[static_cast<std::size_t>(waiter.replica)]);
    }
  }
  turns_.admit(replicas.data(), replicas.size());
}

template <class Carriage>
Turn TurnRun<Carriage>::end(Seat& seat) {
  if (!carriage_.healthy(seat) && overflowed_ < 0) overflowed_ = seat.replica;
  seats_[static_cast<std::size_t>(seat.replica)] = nullptr;
  tsan_release(&seats_);
  return next_turn();
}

template <class Carriage>
void TurnRun<Carriage>::live(Seat& seat) {
  for (;;) {
    Job* job = nullptr;
    int replica = -1;
    {
      const Unwatched unwatched;
      current = {nullptr, &seat};
      auto& run = static_cast<TurnRun&>(*seat.run);
      job = run.job_;
      replica = seat.replica;
      run.follow_others();
      run.announce({.kind = OperationKind::kStart, .agent = {AgentId::Kind::kReplica, replica}});
    }
    job->body(replica);
    Place* to = nullptr;
    Carriage* carriage = nullptr;
    {
      const Unwatched unwatched;
      auto& run = static_cast<TurnRun&>(*seat.run);
      carriage = &run.carriage_;
      const Turn turn = run.end(seat);
      if (Carriage::kShares && turn.kind == Turn::Kind::kReplica &&
          run.seats_[turn.index] == nullptr && run.carriage_.healthy(seat)) {
        seat.replica = static_cast<int>(turn.index);
        run.seats_[turn.index] = &seat;
        continue;
      }
      to = &run.place_of(turn);
      run.carriage_.retire(seat);
    }
    carriage->leave(seat, *to);
    return;
  }
}

template <class Carriage>
void TurnRun<Carriage>::abandon(Carrier& replica) {
  auto& seat = static_cast<Seat&>(replica);
  Place* to = nullptr;
  {
    const Unwatched unwatched;
    to = &place_of(end(seat));
  }
  carriage_.forsake(seat, *to);
}

}  // namespace belfry::detail
