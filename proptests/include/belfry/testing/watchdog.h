// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/prints.h"

#include <memory>
#include <string>

namespace belfry::testing {

class ThreadWatch;

/// The exit code of a process that a watchdog ends.
inline constexpr int kStallExitCode = 86;

/// The settings of a watchdog.
struct WatchdogOptions {
  /// The time after which a run without a move is a stall. A move is an operation of a replica, a
  /// turn, a step of a stream, or a merge. 0: no watchdog.
  double limit_s = 120;
};

/// The options as an initializer that compiles, without members of their usual value.
std::string to_string(const WatchdogOptions& options);

/// The options, with the limit that the environment variable BELFRY_WATCHDOG_S names in seconds,
/// for example 2.5; 0 turns watchdogs off. Throws: std::invalid_argument for a malformed number.
WatchdogOptions watchdog_options();

/// Watches the runs of the constructing thread until the end of the object, with a clock and a
/// thread of its own. The innermost of several watchdogs counts. At a stall the watchdog prints a
/// report to stderr: the run, the state and place of each replica, and the call stack of the
/// replica with the turn. Then:
///
/// - A replica of the baton carrier is left behind: the thread of the replica sleeps for ever in a
///   handler of a signal, and the run throws a MergeMismatchError (kReplicaStalled). The stack of
///   the replica and all objects on the stack are leaked on purpose; a mutex of the replica stays
///   locked.
/// - All else ends the process with kStallExitCode: replicas on fibers, with their common thread;
///   replicas of the concurrent carrier; merge functions; threads without an answer to the signal
///   within a second; all stalls in builds with ThreadSanitizer, because ThreadSanitizer delays
///   signals.
///
/// While a debugger is attached to the process, no run stalls. A stack overflow of a replica on a
/// fiber is reported, too, before the usual effect; AddressSanitizer and ThreadSanitizer print
/// reports of their own.
///
/// Uses the signal SIGRTMAX - 1, and a handler of SIGSEGV on a stack for signals.
class Watchdog {
 public:
  /// Watches the runs of the calling thread until the watchdog is destroyed, on the same thread.
  explicit Watchdog(const WatchdogOptions& options = watchdog_options());
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// The options of the calling thread's watchdog; a limit of 0 without a watchdog.
  static WatchdogOptions options_of_thread();

 private:
  std::unique_ptr<ThreadWatch> watch_;
};

using belfry::operator<<;

}  // namespace belfry::testing
