// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/sanitizers.h"
#include "belfry/backend/current_slot.h"
#include "belfry/backend/executor.h"
#include "belfry/backend/unwatched.h"

#include <cerrno>
#include <cfenv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <typeinfo>

namespace belfry::detail {

class StackCache;
class Turns;
class Workers;
struct Stack;

/// The place of the CopyWitness in devices of a type. A search for the base takes longer than a
/// comparison of types.
struct WitnessPlace {
  const std::type_info* type = nullptr;  ///< Null: no search so far.
  std::ptrdiff_t offset = -1;            ///< From the begin of the device; -1: there is none.
};

/// The fiber or thread that executes the code of one replica, or the code that called `carry` and
/// settles the job. The chain of `outer` leads from the innermost run to the outermost.
struct Carrier {
  Run* run = nullptr;
  int replica = -1;          ///< -1: the caller of `carry`.
  Carrier* outer = nullptr;  ///< A replica's: the caller of its run. A caller's: its own carrier.
  WitnessPlace witness{};    ///< Of the latest device.
};

/// A call of `carry`, from its begin to its end.
class Run {
 public:
  explicit Run(const Executor& executor) : executor_(&executor) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  virtual ~Run() = default;

  const Executor& executor() const { return *executor_; }
  std::uint32_t number = 0;  ///< CarryOptions::number.
  std::uint64_t phase = 0;   ///< ReplicaPhase::phase.
  virtual void step(Carrier& carrier, const Operation& operation) = 0;
  virtual void block_until(Carrier& replica, const Operation& operation, Gate& gate) = 0;
  /// The gate of these replicas, all of this run, was opened.
  virtual void admit(std::span<const Gate::Waiter> replicas) = 0;
  [[noreturn]] virtual void abandon(Carrier& replica) = 0;

 private:
  const Executor* executor_;
};

/// The state of a carrier that moves with it from thread to thread: the context of the runner, the
/// carrier itself, and the name of the user's kernel that it executes.
struct CurrentSlot {
  SlotContext* context = nullptr;
  Carrier* carrier = nullptr;
  const std::string_view* kernel = nullptr;
};

// This model of thread-local storage needs no call, also if the library becomes part of a shared
// object: the C library reserves enough room for a late shared object with so few bytes.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local CurrentSlot current;

/// The innermost carrier of `executor` among the carriers of the calling code, or null.
inline Carrier* carrier_on(const Executor& executor) {
  Carrier* carrier = current.carrier;
  while (carrier != nullptr && &carrier->run->executor() != &executor) carrier = carrier->outer;
  return carrier;
}

/// The innermost carrier, if the carrier is a replica of `executor`; else null. Faster than
/// carrier_on.
inline Carrier* innermost_replica_on(const Executor& executor) {
  Carrier* const carrier = current.carrier;
  const bool is_replica =
      carrier != nullptr && carrier->replica >= 0 && &carrier->run->executor() == &executor;
  return is_replica ? carrier : nullptr;
}

/// The replica of `executor` on which the calling code runs. Throws: InternalError elsewhere.
Carrier& outer_replica_on(const Executor& executor);
inline Carrier& replica_on(const Executor& executor) {
  Carrier* const replica = innermost_replica_on(executor);
  return replica != nullptr ? *replica : outer_replica_on(executor);
}

/// Hands the waiters of `gate` to their runs.
void open_gate(Gate& gate);

/// Makes `carrier` current, with the context that was current, until the end of the scope.
class CarrierScope {
 public:
  explicit CarrierScope(Carrier& carrier) {
    const Unwatched unwatched;
    before_ = current;
    carrier.outer = current.carrier;
    current.carrier = &carrier;
  }
  ~CarrierScope() {
    const Unwatched unwatched;
    current = before_;
  }
  CarrierScope(const CarrierScope&) = delete;
  CarrierScope& operator=(const CarrierScope&) = delete;

 private:
  CurrentSlot before_;
};

/// The floating-point settings of a thread: the rounding mode, the treatment of subnormal numbers,
/// and the enabled exceptions.
#ifdef __x86_64__
class FloatControl {
 public:
  /// A switch of Boost.Context keeps the state of each stack.
  static constexpr bool kKeptBySwitches = true;

  static FloatControl current() {
    FloatControl control;
    control.vectors_ = __builtin_ia32_stmxcsr();
    __asm__ volatile("fnstcw %0" : "=m"(control.stack_));
    return control;
  }
  void restore() const {
    const FloatControl now = current();
    if (now.vectors_ != vectors_) __builtin_ia32_ldmxcsr(vectors_);
    if (now.stack_ != stack_) __asm__ volatile("fldcw %0" : : "m"(stack_));
  }

 private:
  unsigned vectors_ = 0;      // MXCSR.
  unsigned short stack_ = 0;  // The control word of the x87 unit, for long double.
};
#else
class FloatControl {
 public:
  static constexpr bool kKeptBySwitches = false;

  static FloatControl current() {
    FloatControl control;
    std::fegetenv(&control.environment_);
    return control;
  }
  void restore() const { std::fesetenv(&environment_); }

 private:
  std::fenv_t environment_{};
};
#endif

/// State of a thread that code leaves behind for the next code on the thread. The body of a replica
/// begins with the state of the caller of its run.
class ThreadState {
 public:
  static ThreadState current() { return {errno, FloatControl::current()}; }
  void restore() const {
    control_.restore();
    errno = error_;
  }
  ThreadState() = default;

 private:
  ThreadState(int error, const FloatControl& control) : error_(error), control_(control) {}

  int error_ = 0;
  FloatControl control_;
};

/// A carrier of a run with a single running carrier at a time.
struct TurnCarrier : Carrier {
  Gate* gate = nullptr;                  ///< The gate of the latest wait.
  bool cancelled = false;                ///< The wait ends with ReplicaCancelled.
  void (*main)(TurnCarrier&) = nullptr;  ///< Called at the first switch to the carrier.
};

/// The carriers of a run, of a single kind: fibers or threads. TurnScheduler decides the next
/// carrier to run; this class makes carriers and switches between them.
class Carriers {
 public:
  /// `reuses`: whether a carrier may execute another body after its body's end, without a switch.
  explicit Carriers(bool reuses) : reuses_(reuses) {}
  Carriers(const Carriers&) = delete;
  Carriers& operator=(const Carriers&) = delete;
  virtual ~Carriers() = default;

  /// Before a run; returns the carrier of the calling code. `serial`: the run promises the order of
  /// the serial schedule. Throws, before any carrier exists: DeviceError (kOutOfMemory);
  /// UnsupportedError (kUnsupported) without threads; std::bad_alloc.
  virtual TurnCarrier& begin(int replicas, bool serial) = 0;
  /// After the run, when all replicas have ended.
  virtual void end() = 0;
  /// A new carrier for `replica`. The first switch to the carrier calls `main`.
  virtual TurnCarrier& start(int replica, void (*main)(TurnCarrier&)) = 0;
  /// Suspends `from`, the calling carrier, and resumes `to`. Returns at a switch back to `from`.
  virtual void switch_to(TurnCarrier& from, TurnCarrier& to) = 0;
  /// Resumes `to` at the end of `from`, the calling carrier, which may serve another run at once.
  /// Returns on threads only, and `main` must then return.
  virtual void leave(TurnCarrier& from, TurnCarrier& to) = 0;
  /// Resumes `to` and keeps `from`, the calling carrier, with all frames on its stack for ever.
  [[noreturn]] virtual void abandon(TurnCarrier& from, TurnCarrier& to) = 0;
  /// The stack of `carrier`, if the object has made the stack; else null.
  virtual const Stack* stack_of(const TurnCarrier& carrier) const = 0;
  /// Loads the memory of carriers with turns soon. `carriers` are indexed by replica id.
  virtual void prefetch(const Turns& /*turns*/, std::span<TurnCarrier* const> /*carriers*/) {}

  bool reuses() const { return reuses_; }

  /// For ThreadSanitizer: the caller comes after every replica that has paused or ended.
  void order_settling() { tsan_acquire(this); }
  /// For ThreadSanitizer: `carrier` goes on after the code that opened its gate.
  static void order_resumption(TurnCarrier& carrier) { tsan_release(&carrier); }

 private:
  bool reuses_;
};

/// Carriers with stacks of their own, all on the calling thread. `stacks` outlive the object.
std::unique_ptr<Carriers> make_fiber_carriers(StackCache& stacks);
/// Carriers with a thread each. A switch wakes the next thread and puts the calling thread to
/// sleep. `workers` outlive the object.
std::unique_ptr<Carriers> make_thread_carriers(Workers& workers);

}  // namespace belfry::detail
