// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/carrier.h"
#include "backend/run_order.h"
#include "backend/seat_fetcher.h"
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

/// One call of `carry` in which one carrier at a time runs. Turns decides which carrier; `Carriage`
/// switches to it. A switch happens on the stack of the carrier that gives up its turn, straight to
/// the next one: the caller's stack is visited only to settle and to let other agents take steps.
///
/// A Carriage has
/// - Place: a point at which execution can be left and resumed, with a flag `detour` for this
/// class:
///   execution that is resumed there has more to do than to return;
/// - Seat: a Carrier and a Place, with `gate` for this class;
/// - kShares: whether a seat whose body has ended may go on with the body of another replica;
/// - begin(replicas), end(): around each run; may throw before anything has started;
/// - seat(replica, live): a seat on which a first switch calls `live(seat)`;
/// - switch_to(from, to): returns after a switch back to `from`;
/// - retire(seat): nothing runs on the seat after the caller's next `leave`;
/// - leave(seat, to), forsake(seat, to): for good; the latter with frames still on the stack;
/// - fetch(seat), fetch_frames(seat): for SeatFetcher;
/// - healthy(seat): false if the seat's stack was too small.
template <class Carriage>
class TurnRun final : public Run {
 public:
  using Place = typename Carriage::Place;
  using Seat = typename Carriage::Seat;

  template <class Resources>
  TurnRun(const Executor& executor, const ExecutorParts& parts, Resources& resources)
      : Run(executor), parts_(&parts), carriage_(resources) {}

  void carry(int replicas, Job& job, bool concurrent) {
    const Turn turn = begin(replicas, job, concurrent);
    const CarrierScope scope(caller_);
    Place* const first = next_place(turn);
    if (first != nullptr) pass_turn(caller_place_, first);
    finish();
  }

  void step(Carrier& carrier, const Operation& operation) override {
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

  void block_until(Carrier& replica, const Operation& operation, Gate& gate) override {
    const Unwatched unwatched;
    auto& seat = static_cast<Seat&>(replica);
    announce(operation);
    std::vector<Gate::Waiter>& waiters = gate.waiters();
    if (waiters.size() == waiters.capacity()) [[unlikely]] {
      make_room(waiters);
    }
    waiters.push_back({this, seat.replica});
    seat.gate = &gate;
    order_.pause();
    pass_turn(seat, &place_of(next_turn()));
    order_.go_on(&seat);
  }

  void admit(std::span<const Gate::Waiter> replicas) override {
    const Unwatched unwatched;
    if constexpr (kTsan) {
      for (const Gate::Waiter& waiter : replicas) {
        RunOrder::let_go_on(seats_[static_cast<std::size_t>(waiter.replica)]);
      }
    }
    turns_.admit(replicas.data(), replicas.size());
  }

  [[noreturn]] void abandon(Carrier& replica) override {
    auto& seat = static_cast<Seat&>(replica);
    Place* to = nullptr;
    {
      const Unwatched unwatched;
      to = &place_of(end(seat));
    }
    carriage_.forsake(seat, *to);
  }

 private:
  // On the stack of the caller.

  // The first turn.
  Turn begin(int replicas, Job& job, bool concurrent) {
    const Unwatched unwatched;
    job_ = &job;
    overflowed_ = -1;
    failure_ = nullptr;
    seats_.assign(static_cast<std::size_t>(replicas), nullptr);
    // All the memory that the run needs by itself: replicas on stacks cannot be left behind.
    blocked_.clear();
    blocked_.reserve(seats_.size());
    order_.begin(!concurrent);
    turns_.begin(replicas, concurrent ? parts_->chooser : nullptr, parts_->agents);
    carriage_.begin(replicas);
    caller_ = {this, -1, nullptr};
    caller_place_.detour = true;
    return turns_.next();
  }

  // The place of the next replica that has a turn, after the agents before it have taken theirs and
  // the job has settled; null if the run is over.
  Place* next_place(Turn turn) {
    for (;;) {
      turn = run_agents(turn);
      if (turn.kind == Turn::Kind::kReplica) {
        const Unwatched unwatched;
        return &place_of(turn);
      }
      switch (settle()) {
        case Job::Settled::kFinished:
          return nullptr;
        case Job::Settled::kResumed:
          break;
        case Job::Settled::kWaiting:
          const bool can_go_on = wait_for_agents() || cancel_blocked();
          if (!can_go_on) return nullptr;
          break;
      }
      const Unwatched unwatched;
      turn = turns_.next();
    }
  }

  // Until it is the turn of a replica, or of nobody.
  Turn run_agents(Turn turn) {
    const Unwatched unwatched;
    for (; turn.kind == Turn::Kind::kAgent; turn = turns_.next()) run_agent(turn.index);
    return turn;
  }

  Job::Settled settle() {
    {
      const Unwatched unwatched;
      order_.settle();
    }
    const Job::Settled settled = job_->settle();
    // If no replica can go on, the run waits.
    const Unwatched unwatched;
    return settled == Job::Settled::kResumed && turns_.empty() ? Job::Settled::kWaiting : settled;
  }

  // Whether agents have let a replica go on.
  bool wait_for_agents() {
    const Unwatched unwatched;
    while (turns_.empty()) {
      const Turn turn = turns_.wait();
      if (turn.kind == Turn::Kind::kNobody) return false;
      run_agent(turn.index);
    }
    return true;
  }

  void run_agent(std::uint32_t which) {
    try {
      parts_->agents->run(which);
    } catch (...) {
      // Replicas are suspended: their stacks must be unwound before anybody hears of this.
      if (failure_ == nullptr) failure_ = std::current_exception();
    }
  }

  // Whether there are replicas to cancel.
  bool cancel_blocked() {
    const Unwatched unwatched;
    blocked_.clear();
    for (std::size_t i = 0; i < seats_.size(); ++i) {
      if (seats_[i] != nullptr) blocked_.push_back(static_cast<int>(i));
    }
    job_->deadlock(blocked_);
    if (blocked_.empty()) {
      fail_without_replicas();
      return false;
    }
    for (const int id : blocked_) {
      Seat& seat = *seats_[static_cast<std::size_t>(id)];
      seat.detour = true;
      std::erase_if(seat.gate->waiters(),
                    [&](const Gate::Waiter& waiter) { return waiter.run == this; });
      RunOrder::let_go_on(&seat);
    }
    turns_.admit(blocked_);
    return true;
  }

  void fail_without_replicas() {
    if (failure_ != nullptr) return;
    try {
      throw InternalError(ErrorCode::kInternal, "a run waits, but no replica is left");
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  void finish() {
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

  // On the stack that gives up its turn.

  // A replica and the caller are left and resumed at this one switch. The return on the one stack
  // then leads to the call that the processor saw on the other, and the detours depend on a branch,
  // which the processor learns to predict.
  [[gnu::noinline]] void pass_turn(Place& here, Place* next) {
    do {
      const Unwatched unwatched;
      carriage_.switch_to(here, *next);
    } while (here.detour && (next = take_detour(here)) != nullptr);
  }

  // Rare functions stand apart, so that the frames of waiting replicas stay small: as many of them
  // as possible should fit into a cache.
  [[gnu::noinline]] Place* take_detour(Place& here) {
    if (&here == &caller_place_) return next_place(back_);
    here.detour = false;
    order_.go_on(&static_cast<Seat&>(here));
    throw ReplicaCancelled{};
  }

  Turn next_turn() {
    const Turn turn = turns_.next();
    if (turns_.looks_ahead()) [[unlikely]] {
      fetcher_.fetch(turns_, carriage_, seats_);
    }
    return turn;
  }

  // The place for `turn`: that of a replica, or of the caller for everything else.
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

  void announce(const Operation& operation) {
    if (parts_->sink != nullptr) parts_->sink->on_operation(operation);
  }

  // The bodies of replicas.

  // On a new seat: the body of its replica, and of further replicas if the carriage shares seats.
  static void live(Seat& seat) {
    for (;;) {
      Job* job = nullptr;
      int replica = -1;
      {
        const Unwatched unwatched;
        current = {nullptr, &seat};
        auto& run = static_cast<TurnRun&>(*seat.run);
        job = run.job_;
        replica = seat.replica;
        run.order_.start();
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
        if (run.goes_on_with(turn, seat)) continue;
        to = &run.place_of(turn);
        run.carriage_.retire(seat);
      }
      carriage->leave(seat, *to);
      return;
    }
  }

  // The next turn, now that the body on `seat` has ended.
  Turn end(Seat& seat) {
    if (!carriage_.healthy(seat) && overflowed_ < 0) overflowed_ = seat.replica;
    seats_[static_cast<std::size_t>(seat.replica)] = nullptr;
    order_.pause();
    return next_turn();
  }

  // Whether `seat`, whose body has ended, takes the body that `turn` starts.
  bool goes_on_with(Turn turn, Seat& seat) {
    const bool starts_body = turn.kind == Turn::Kind::kReplica && seats_[turn.index] == nullptr;
    if (!Carriage::kShares || !starts_body || !carriage_.healthy(seat)) return false;
    seat.replica = static_cast<int>(turn.index);
    seats_[turn.index] = &seat;
    return true;
  }

  const ExecutorParts* parts_;
  Carriage carriage_;
  Turns turns_;
  std::vector<Seat*> seats_;  // Null before a body starts and after it ended.
  std::vector<int> blocked_;  // While they are cancelled; has room for all.
  Job* job_ = nullptr;
  Carrier caller_;
  Place caller_place_;
  Turn back_;  // Why the caller was switched to.
  RunOrder order_;
  SeatFetcher fetcher_;
  int overflowed_ = -1;         // The first replica whose stack was too small.
  std::exception_ptr failure_;  // The first one of an agent.
};

}  // namespace belfry::detail
