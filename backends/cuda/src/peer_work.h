// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/function_ref.h"
#include "belfry/process_group.h"

#include <chrono>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>

namespace belfry::cuda {

struct SharedState;

/// The other processes of a communicator.
struct Peers {
  std::function<GroupHealth()> health;  ///< The present knowledge about the processes.
  std::chrono::milliseconds deadline;   ///< Of the backend.
  bool are_processes = true;            ///< False: all members are in this process.
};

/// A wait of the host for the work of several processes. The host polls, because a wait of CUDA or
/// NCCL for a lost process never returns.
class PeerWait {
 public:
  explicit PeerWait(const Peers& peers) : peers_(peers), begin_(Clock::now()) {}

  /// Lets threads run between two polls. `what` names the wait in messages.
  /// Throws: ProcessLostError (kProcessLost) if a process has been known to be lost for a moment;
  /// DeviceError (kDeviceLost) after the deadline of the backend or of the group.
  void pause(const char* what);

 private:
  using Clock = std::chrono::steady_clock;

  const Peers& peers_;
  Clock::time_point begin_;
  std::optional<Clock::time_point> first_loss_;
  int polls_ = 0;
};

/// The collectives in flight of a clique over several processes. Shared by the clique and the waits
/// of the host.
class PeerWork {
 public:
  /// The functions of a clique. `is_done` tells whether the enqueued collectives have ended.
  /// `check` throws the errors of NCCL. `abort` ends the communicators by force.
  struct Clique {
    std::function<bool()> is_done;
    std::function<void()> check;
    std::function<void()> abort;
  };

  PeerWork(SharedState& shared, Peers peers, Clique clique);
  PeerWork(const PeerWork&) = delete;
  PeerWork& operator=(const PeerWork&) = delete;

  const Peers& peers() const { return peers_; }
  /// Keeps waits from calling functions of the clique while the clique marks the end of work.
  std::unique_lock<std::mutex> hold() const { return std::unique_lock(mutex_); }
  bool is_done() const;
  /// Throws the error of the failed clique.
  void require_usable() const;
  /// Throws the errors of NCCL, unless a thread is enqueuing.
  void check();
  /// Ends the clique by force; `thrown` is the error of all later waits. Never throws.
  void give_up(const std::exception_ptr& thrown) noexcept;
  /// The same after the clique has aborted the communicators.
  void fail(const std::exception_ptr& thrown) noexcept;
  /// The clique ends: no function of the clique is called afterwards.
  void end() noexcept;

 private:
  SharedState& shared_;
  Peers peers_;
  mutable std::mutex mutex_;  // After SharedState::launch_order.
  Clique clique_;             // Without functions after the end of the clique.
  std::exception_ptr failure_;
};

/// Precedes a wait of the host: polls while collectives over several processes are in flight, and
/// until `is_done` is true. Afterwards the wait depends on work of the own process alone. Without
/// collectives over several processes the function returns at once.
/// Throws: as PeerWait::pause; DeviceError with an error of NCCL. The communicator is aborted then,
/// and all later waits throw the same error.
void await_peers(SharedState& shared, detail::FunctionRef<bool()> is_done);

}  // namespace belfry::cuda
