// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/carrier.h"
#include "backend/sanitizers.h"
#include "backend/turns.h"

#include <span>

namespace belfry::detail {

struct Stack;

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

}  // namespace belfry::detail
