// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/current_slot.h"
#include "belfry/backend/unwatched.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>

namespace belfry::engine {

/// The entry of threads into an engine. An engine for a single thread at a time has no mutex:
/// ThreadSanitizer would take every use of a mutex for an order among the replicas, and miss races
/// of replicas outside the engine. A flag without memory order reports a second thread instead.
class EngineDoor {
 public:
  explicit EngineDoor(bool threads) : threads_(threads) {}

  /// Throws: ContextError (kStrategyBusy) if a second thread is in an engine for a single thread.
  void enter_or_throw() {
    if (threads_) {
      mutex_.lock();
    } else if (taken_.exchange(true, std::memory_order_relaxed)) [[unlikely]] {
      refuse();
    }
  }
  /// Waits instead of throwing: for callers that cannot throw, or have begun already.
  void enter_or_wait() {
    if (threads_) return mutex_.lock();
    while (taken_.exchange(true, std::memory_order_relaxed)) std::this_thread::yield();
  }
  void leave() {
    if (threads_) return mutex_.unlock();
    taken_.store(false, std::memory_order_relaxed);
  }
  /// Of an engine for several threads.
  std::mutex& mutex() { return mutex_; }

 private:
  [[noreturn]] static void refuse();

  const bool threads_;
  std::mutex mutex_;
  std::atomic<bool> taken_{false};
};

/// Holds the engine for the life of the lock. With kOrThrow, a call in the body of a user's kernel,
/// which runs with the engine held, is a ContextError (kWrongContext).
class EngineLock {
 public:
  enum class Entry : std::uint8_t { kOrThrow, kOrWait };

  explicit EngineLock(EngineDoor& door, Entry entry = Entry::kOrThrow) : door_(door) {
    if (entry == Entry::kOrThrow) {
      detail::require_no_kernel();
      door_.enter_or_throw();
      watch_nothing();
    } else {
      lock();
    }
  }
  ~EngineLock() {
    if (held_) unlock();
  }
  EngineLock(const EngineLock&) = delete;
  EngineLock& operator=(const EngineLock&) = delete;

  void lock() {
    door_.enter_or_wait();
    watch_nothing();
  }
  void unlock() {
    held_ = false;
    unwatched_.reset();
    door_.leave();
  }
  bool held() const { return held_; }

  /// Waits for a notification; the engine is free meanwhile. Only for an engine of several threads.
  void wait(std::condition_variable& notified) {
    std::unique_lock adopted(door_.mutex(), std::adopt_lock);
    notified.wait(adopted);
    adopted.release();
  }

 private:
  void watch_nothing() {
    unwatched_.emplace();
    held_ = true;
  }

  EngineDoor& door_;
  bool held_ = false;
  std::optional<detail::Unwatched> unwatched_;
};

}  // namespace belfry::engine
