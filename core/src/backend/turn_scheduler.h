// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/carrier.h"
#include "backend/turns.h"
#include "belfry/backend/executor.h"

#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <vector>

namespace belfry::detail {

/// Runs replicas one at a time: a cooperative scheduler. Turns is its queue of ready replicas, and
/// Carriers switches between their stacks. A replica that gives way switches straight to the next
/// replica; the caller of `carry` runs only between replicas, for streams, and to ask the job to go
/// on.
/// A scheduler serves one call of `carry` at a time and keeps its memory for the next.
/// Hidden, like the executor: functions of a visible class may be replaced when a program is
/// loaded, and compilers do not inline such functions. The scheduler runs with ThreadSanitizer off
/// (Unwatched), and turns it on for `Job::settle`, which is code of the job.
class [[gnu::visibility("hidden")]] TurnScheduler final : public Run {
 public:
  /// `parts` outlive the scheduler.
  TurnScheduler(const Executor& executor, const ExecutorParts& parts,
                std::unique_ptr<Carriers> carriers);
  ~TurnScheduler() override;

  int first_replica = 0;  ///< CarryOptions::first_replica.
  /// Executor::carry. With `concurrent` false, the serial schedule. Throws: as Executor::carry.
  void carry(int replicas, Job& job, bool concurrent);

  void step(Carrier& carrier, const Operation& operation) override;
  void block_until(Carrier& replica, const Operation& operation, Gate& gate) override;
  /// Makes blocked replicas ready: their gate has opened.
  void admit(std::span<const Gate::Waiter> replicas) override;
  /// Ends the running replica without unwinding its stack. Called on the replica's own stack.
  [[noreturn]] void abandon(Carrier& replica) override;
  /// Ends a replica that hangs: called on the caller's stack while `replica` should run. The
  /// replica never runs again, and the next turn begins.
  void forsake(int replica);

 private:
  // On the caller's stack.
  void begin(int replicas, Job& job, bool concurrent);
  TurnCarrier* run_until_replica(Turn turn);
  Turn run_agents(Turn turn);
  void run_agent(std::uint32_t which);
  Job::Settled settle();
  bool wait_for_agents();
  bool cancel_blocked();
  void fail_without_replicas();
  void finish();

  // On the stack that gives up its turn.
  void switch_from(TurnCarrier& here, TurnCarrier* next);
  Turn next_turn();
  TurnCarrier& carrier_of(Turn turn);
  TurnCarrier& start_carrier(std::uint32_t replica);
  void announce(const Operation& operation);

  // On the carriers of replicas.
  struct Body {
    Job* job;
    int replica;
  };
  struct Departure {
    Carriers* kind;
    TurnCarrier* next;
  };
  static void execute_bodies(TurnCarrier& carrier);
  static Body start_body(TurnCarrier& carrier);
  static Departure after_body(TurnCarrier& carrier);
  Turn end(TurnCarrier& carrier);

  const ExecutorParts* parts_;
  std::unique_ptr<Carriers> kind_;
  Turns turns_;
  std::vector<TurnCarrier*> carriers_;  // By replica; null before a body starts and after its end.
  std::vector<int> blocked_;            // Replicas to cancel; has room for all.
  Job* job_ = nullptr;
  TurnCarrier* caller_ = nullptr;
  ThreadState callers_state_;
  Turn callers_turn_;           // The reason for the latest switch to the caller.
  int overflowed_ = -1;         // The first replica whose stack was too small.
  std::exception_ptr failure_;  // The first exception of another agent.
};

}  // namespace belfry::detail
