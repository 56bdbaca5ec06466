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

/// The replica bodies of one run, and what happens between rounds. Implemented by the runner.
class Job {
 public:
  enum class Settled : std::uint8_t {
    kResumed,   ///< Some replicas may go on.
    kWaiting,   ///< Some replicas wait for other agents (streams).
    kFinished,  ///< All bodies have ended.
  };

  virtual ~Job() = default;
  /// Runs replica `replica` to its end, on its own carrier. Never throws.
  virtual void body(int replica) noexcept = 0;
  /// Called on the thread that called `carry`, while no replica can run.
  virtual Settled settle() noexcept = 0;
  /// Called instead of waiting for ever: the replicas `blocked` wait and no agent can move. Their
  /// `block_until` throws ReplicaCancelled next.
  virtual void deadlock(const std::vector<int>& blocked) noexcept = 0;
};

namespace detail {
class Run;
}

/// Where agents wait. `Executor::open` lets all present waiters go; later ones wait anew. Keep a
/// gate rather than making one for each wait: it keeps the memory for its waiters.
class Gate {
 public:
  /// A replica of a run. Runs nest, so an id alone would be ambiguous.
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

/// Agents beside the replicas whose steps the executor may order: a backend's streams.
class OtherAgents {
 public:
  virtual ~OtherAgents() = default;
  /// How many can take a step now.
  virtual std::uint32_t runnable() = 0;
  /// Lets the `which`-th of them take one step.
  virtual void run(std::uint32_t which) = 0;
};

struct CarryOptions {
  bool concurrent = true;  ///< False: the serial schedule, lowest id first, whatever the Chooser.
};

/// Carries replicas: decides whose turn it is and switches between them. `carry` may nest (a merge
/// may start another run); the other calls concern the innermost run of the calling carrier.
class Executor {
 public:
  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  virtual ~Executor() = default;

  virtual std::string_view name() const = 0;
  /// Runs bodies 0 to replicas - 1 until `settle` says kFinished. Order: blocks the caller.
  /// Throws: before any body starts, std::bad_alloc, DeviceError (kOutOfMemory), UnsupportedError
  /// (kUnsupported) without threads, or ContextError (kStrategyBusy) while another thread's run
  /// lasts, of executors for one thread at a time (SEM-9); after all have ended, DeviceError
  /// (kStackOverflow) or what another agent's step threw.
  virtual void carry(int replicas, Job& job, const CarryOptions& options) = 0;
  /// Tells the sink of `operation`. Nobody else runs before it returns.
  virtual void announce(const Operation& operation) = 0;
  /// Announces a visible operation of the calling agent, which it carries out next. Order: other
  /// agents may run before it is announced.
  virtual void step(const Operation& operation) = 0;
  /// Announces `operation` and suspends the calling replica until `gate` is opened.
  /// Throws: ReplicaCancelled after Job::deadlock; std::bad_alloc at once. Context: on a replica.
  virtual void block_until(const Operation& operation, Gate& gate) = 0;
  /// Lets the replicas that wait at `gate` go on, lowest id first as far as the schedule is fixed.
  virtual void open(Gate& gate) = 0;
  /// Whether the caller is a replica's carrier of this executor (so that it may block). Throws:
  /// ContextError (kStrategyBusy) on a thread that carries none of its runs, while another thread's
  /// run lasts, of executors for one thread at a time (SEM-9).
  virtual bool on_replica() const = 0;
  /// Ends the calling replica here without unwinding it: the last resort for one that swallows
  /// cancellation. Its stack and what lives there are lost; `carry` counts it as ended.
  [[noreturn]] virtual void abandon() = 0;
};

/// What an executor is made of. Everything but `chooser` may be null.
struct ExecutorParts {
  Chooser* chooser = nullptr;
  OperationSink* sink = nullptr;
  OtherAgents* agents = nullptr;
  std::size_t stack_bytes = std::size_t{512} << 10;  ///< Fibers only; mapped lazily.
};

/// Stack switches on the calling thread: deterministic, the simulator's default. Answer 0 of the
/// Chooser always means the caller, else the lowest id that can go on, so that a Chooser that
/// answers nothing else gives the serial schedule. For one thread at a time.
std::unique_ptr<Executor> make_fiber_executor(const ExecutorParts& parts);
/// One thread a replica, one of which runs at a time, in the same order as the fibers: for
/// debuggers and for code that must not share a thread. For one thread at a time.
std::unique_ptr<Executor> make_baton_executor(const ExecutorParts& parts);
/// One thread a replica, all running at once: for CUDA. `chooser` and `agents` are not used;
/// with CarryOptions::concurrent false it behaves as the baton with the serial schedule.
std::unique_ptr<Executor> make_concurrent_executor(const ExecutorParts& parts);

}  // namespace belfry
