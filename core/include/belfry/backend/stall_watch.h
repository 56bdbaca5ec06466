// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace belfry {

/// The line `expected` of a report of a stall.
inline constexpr const char* kExpectedWithoutStall =
    "every replica reaches its next merge, or its end, by itself";
/// The line `hint` of a report of a stall.
inline constexpr const char* kHintAtStall =
    "replicas take turns, which change at merges and at accesses to variables: wait for other "
    "replicas in merges only, and hold no mutex across a merge";

/// The progress of a replica of a run.
struct ReplicaProgress {
  /// The states of a replica.
  enum class State : std::uint8_t {
    kNotStarted,  ///< Has not begun its function.
    kRunning,     ///< In its own code, with or without the turn.
    kAtMerge,     ///< Waits in the merge `merges`.
    kAtDevice,    ///< Waits for its device.
    kEnded,       ///< Returned or threw.
    kLeftBehind,  ///< Was stopped for ever by `RunProgress::leave_behind`.
  };
  State state = State::kNotStarted;  ///< The state of the replica.
  std::uint64_t merges = 0;          ///< The number of merges reached so far.
  CallSite site{};                   ///< Of the latest merge.
  pthread_t thread{};                ///< The replica's thread, once started.
};

/// A run, for a second thread in search of stalls. The functions may be called from
/// StallWatch::run_began to run_ended. The replicas are only valid while the watch counts no move.
class RunProgress {
 public:
  static constexpr int kCaller = -1;  ///< The turn of merges and of streams.
  static constexpr int kAll = -2;     ///< All replicas run at once.

  /// The facts about a run that do not change.
  struct Facts {
    std::string_view carrier;     ///< The name of the executor.
    CallSite site{};              ///< Of the call of `run`; empty if not known.
    int first_replica = 0;        ///< The id of the first of `replicas`.
    std::size_t stack_bytes = 0;  ///< Of a replica; 0: a whole thread.
    pthread_t caller{};           ///< The thread of the call.
  };

  virtual ~RunProgress() = default;
  RunProgress(const RunProgress&) = delete;
  RunProgress& operator=(const RunProgress&) = delete;

  /// The facts about the run.
  const Facts& facts() const { return facts_; }
  /// The replicas of the run, in order of their ids.
  const std::vector<ReplicaProgress>& replicas() const { return replicas_; }
  /// The position in `replicas` of the replica with the turn, kCaller or kAll.
  int turn() const { return turn_.load(std::memory_order_acquire); }

  /// Whether `address` lies just below the stack of the replica with the turn. Context: a handler
  /// of a signal, on the thread of the replica.
  virtual bool is_below_stack(const void* address) const noexcept = 0;
  /// Whether the replica with the turn has a thread of its own, and can be left behind.
  virtual bool can_leave_behind() const = 0;
  /// Makes the run fail with a MergeMismatchError (kReplicaStalled), with the name of the replica
  /// with the turn. Context: the thread of the replica has been stopped for ever, inside a handler
  /// of a signal. The replica's stack and all objects on the stack stay as they are.
  virtual void leave_behind(std::uint32_t limit_ms) = 0;

 protected:
  /// A run of `replicas` replicas, none of which has started.
  RunProgress(const Facts& facts, int replicas)
      : facts_(facts), replicas_(static_cast<std::size_t>(replicas)) {}
  /// The replica at a position, to change.
  ReplicaProgress& replica(int position) { return replicas_[static_cast<std::size_t>(position)]; }
  /// All replicas, to change.
  std::vector<ReplicaProgress>& all() { return replicas_; }
  /// Notes whose turn comes now: a position in `replicas`, kCaller or kAll.
  void set_turn(int turn) { turn_.store(turn, std::memory_order_release); }

 private:
  Facts facts_;
  std::vector<ReplicaProgress> replicas_;
  std::atomic<int> turn_{kCaller};
};

/// Is told of the runs of a thread, and counts their moves: operations, turns, and steps of
/// streams. The library has no clock: a watch with a clock of its own can tell when the count has
/// stopped (belfry/testing/watchdog.h). Runs on threads without a watch cost nothing more.
class StallWatch {
 public:
  StallWatch() = default;
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;
  virtual ~StallWatch() = default;

  /// Called on the watched thread, before the bodies start. Runs nest.
  virtual void run_began(RunProgress& run) = 0;
  /// Called on the watched thread, after all bodies have ended.
  virtual void run_ended(RunProgress& run) noexcept = 0;

  /// Counts a move. Any thread.
  void count_move() noexcept { moves_.fetch_add(1, std::memory_order_release); }
  /// The number of moves so far. Any thread.
  std::uint64_t moves() const noexcept { return moves_.load(std::memory_order_acquire); }

 private:
  std::atomic<std::uint64_t> moves_{0};
};

/// The watch of the calling thread, or null.
StallWatch* stall_watch() noexcept;
/// Sets the watch of the calling thread, and returns the watch before.
StallWatch* set_stall_watch(StallWatch* watch) noexcept;

}  // namespace belfry
