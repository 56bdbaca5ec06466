// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/unwatched.h"

#include <atomic>
#include <thread>

namespace belfry::detail {

/// The thread that called `carry` of an executor for one thread at a time, while its runs last. It
/// orders nothing between threads: it tells of those that do not take turns.
class RunningThread {
 public:
  /// A run that begins outside the executor's runs. Several may last at a time: replicas of another
  /// executor, on one thread, each begin one.
  class Run {
   public:
    /// Does nothing for an `inner` run, whoever's carrier it begins on.
    /// Throws: ContextError (kStrategyBusy) while another thread's runs last.
    Run(RunningThread& thread, bool inner) : thread_(inner ? nullptr : &thread) {
      if (thread_ != nullptr) thread_->enter();
    }
    ~Run() {
      if (thread_ != nullptr) thread_->leave();
    }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

   private:
    RunningThread* thread_;
  };

  /// Throws: ContextError (kStrategyBusy) while another thread's runs last.
  void require_mine() const {
    const std::thread::id owner = owner_.load(std::memory_order_relaxed);
    if (owner != std::thread::id() && owner != std::this_thread::get_id()) [[unlikely]] {
      refuse();
    }
  }

 private:
  void enter() {
    const Unwatched unwatched;
    std::thread::id owner;
    const std::thread::id caller = std::this_thread::get_id();
    if (!owner_.compare_exchange_strong(owner, caller, std::memory_order_relaxed) &&
        owner != caller) {
      refuse();
    }
    ++runs_;
  }
  void leave() {
    const Unwatched unwatched;
    if (--runs_ == 0) owner_.store(std::thread::id(), std::memory_order_relaxed);
  }
  [[noreturn]] static void refuse();

  std::atomic<std::thread::id> owner_{};
  int runs_ = 0;  // Of the owner, which alone counts them.
};

}  // namespace belfry::detail
