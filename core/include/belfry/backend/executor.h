// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/chooser.h"
#include "belfry/backend/operation.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace belfry {

/// The replica bodies of a run, and the work between rounds. Implemented by the runner.
class Job {
 public:
  enum class Settled : std::uint8_t {
    kResumed,   ///< Some replicas can continue.
    kWaiting,   ///< Some replicas wait for other agents (streams).
    kFinished,  ///< All bodies have ended.
  };

  virtual ~Job() = default;
  /// Called on the thread that called `carry`, before any body starts, if `carry` has not thrown.
  virtual void begin() noexcept {}
  /// Runs replica `replica` to its end, on its own fiber or thread. Never throws.
  virtual void body(int replica) noexcept = 0;
  /// Called on the thread that called `carry`, when no replica can run.
  virtual Settled settle() noexcept = 0;
  /// Called at a deadlock: the replicas in `blocked` wait, and no agent can continue. Afterwards
  /// the replicas' `block_until` throws ReplicaCancelled.
  virtual void deadlock(const std::vector<int>& blocked) noexcept = 0;
  /// Called, before `settle`, if a StallWatch has left `replica` behind: the replica took no step
  /// for `limit_ms` milliseconds, never runs again, and counts as ended.
  virtual void stalled(int /*replica*/, std::uint32_t /*limit_ms*/) noexcept {}
  /// Called on the thread that called `carry`, once at most, while replicas run: a WaitLimit has
  /// passed. Afterwards the replicas that wait are cancelled. `in_merge`: replicas have waited for
  /// others for `limit_ms` milliseconds; false: the run has taken the time.
  virtual void late(bool /*in_merge*/, std::int64_t /*limit_ms*/) noexcept {}
};

class WaitLimit;

namespace detail {
class Run;
}

/// A list of waiting replicas. `Executor::open` resumes all present waiters; later waiters wait
/// anew. Keep a gate for several waits: the gate keeps the memory for its waiters.
class Gate {
 public:
  /// A replica of a run. Runs nest; an id alone would be ambiguous.
  struct Waiter {
    detail::Run* run = nullptr;
    int replica = -1;
  };

  Gate() = default;
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  /// In order of arrival. For executors alone.
  std::vector<Waiter>& waiters() { return waiters_; }

 private:
  std::vector<Waiter> waiters_;
};

/// Agents other than replicas, with steps that the executor may order: a backend's streams.
class OtherAgents {
 public:
  virtual ~OtherAgents() = default;
  /// The number of agents that can take a step now.
  virtual std::uint32_t runnable() = 0;
  /// Carries out a step of the `which`-th runnable agent.
  virtual void run(std::uint32_t which) = 0;
  /// The name of the `which`-th runnable agent, for a Chooser that wants candidates.
  virtual AgentId agent(std::uint32_t which) {
    return {AgentId::Kind::kStream, static_cast<std::int32_t>(which)};
  }
};

struct CarryOptions {
  bool concurrent = true;  ///< False: the serial schedule, lowest id first; the Chooser is ignored.
  /// The number of the run, for `CurrentPlace`; 0 if nobody numbers runs.
  std::uint32_t number = 0;
  int first_replica = 0;  ///< The id of body 0, for reports of stalls and of stack overflows.
};

/// Runs replicas: chooses the next replica and switches between replicas. `carry` may nest (a merge
/// may start another run); all other calls concern the innermost run of the calling fiber or
/// thread.
class Executor {
 public:
  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  virtual ~Executor() = default;

  virtual std::string_view name() const = 0;
  /// Runs bodies 0 to replicas - 1 until `settle` returns kFinished.
  /// Order: blocks the caller.
  /// Throws, before any body starts: std::bad_alloc, DeviceError (kOutOfMemory), UnsupportedError
  /// (kUnsupported) without threads, or, from executors for one thread at a time, ContextError
  /// (kStrategyBusy) during another thread's run (SEM-9).
  /// Throws, after all have ended: DeviceError (kStackOverflow), or the exception of another
  /// agent's step.
  virtual void carry(int replicas, Job& job, const CarryOptions& options) = 0;
  /// Passes `operation` to the sink. No other agent runs before the return.
  virtual void announce(const Operation& operation) = 0;
  /// Announces a visible operation; the calling agent carries out the operation next.
  /// Order: other agents may run before the announcement.
  virtual void step(const Operation& operation) = 0;
  /// Announces `operation` and suspends the calling replica until `gate` is opened.
  /// Throws: ReplicaCancelled after Job::deadlock; std::bad_alloc at once. Context: on a replica.
  virtual void block_until(const Operation& operation, Gate& gate) = 0;
  /// Resumes the replicas that wait at `gate`; in a fixed schedule the lowest id runs first.
  virtual void open(Gate& gate) = 0;
  /// Whether the caller runs as a replica of this executor, and may therefore block.
  /// Throws, from executors for one thread at a time: ContextError (kStrategyBusy) on a foreign
  /// thread during another thread's run (SEM-9).
  virtual bool on_replica() const = 0;
  /// Ends the calling replica without unwinding: the last resort for a replica that swallows
  /// cancellation. The stack and all objects on the stack are lost; `carry` counts the replica as
  /// ended.
  [[noreturn]] virtual void abandon() = 0;
};

/// The parts of an executor. All but `chooser` may be null.
struct ExecutorParts {
  Chooser* chooser = nullptr;
  OperationSink* sink = nullptr;
  OtherAgents* agents = nullptr;
  std::size_t stack_bytes = std::size_t{512} << 10;  ///< Fibers only; mapped lazily.
  WaitLimit* limit = nullptr;                        ///< For replicas that run at once.
};

/// The bounds of ExecutorParts::stack_bytes.
inline constexpr std::size_t kLeastStackBytes = std::size_t{32} << 10;
inline constexpr std::size_t kMostStackBytes = std::size_t{1} << 30;
/// Throws: InvalidArgumentError (kInvalidArgument) unless `bytes` is within the bounds.
void require_stack_bytes(std::size_t bytes, CallSite site = {});

/// Switches fibers on the calling thread: deterministic, the simulator's default. Answer 0 of the
/// Chooser means the caller if the caller can continue, else the lowest id that can. With answers
/// of 0 alone the schedule is serial. The executor is for one calling thread at a time.
/// Throws: InvalidArgumentError (kInvalidArgument) for a size of stacks out of bounds.
std::unique_ptr<Executor> make_fiber_executor(const ExecutorParts& parts);
/// A thread for each replica; threads run in turn, in the same order as the fibers: for debuggers
/// and for code that must not share a thread. The executor is for one calling thread at a time.
std::unique_ptr<Executor> make_baton_executor(const ExecutorParts& parts);
/// A thread for each replica, all running at once: for CUDA. `chooser` and `agents` are unused.
/// With CarryOptions::concurrent false, replicas run one at a time in the serial schedule.
std::unique_ptr<Executor> make_concurrent_executor(const ExecutorParts& parts);

}  // namespace belfry
