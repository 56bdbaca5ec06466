// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/unwatched.h"

#include <condition_variable>
#include <mutex>
#include <optional>

namespace belfry::engine {

/// Holds the engine while one lives. Where only one thread at a time can be in the engine there is
/// no mutex: with one, ThreadSanitizer would take every use of the engine for an order among the
/// replicas, and miss what they share outside it.
class EngineLock {
 public:
  explicit EngineLock(std::mutex* mutex) : mutex_(mutex) { lock(); }
  ~EngineLock() {
    if (held_) unlock();
  }
  EngineLock(const EngineLock&) = delete;
  EngineLock& operator=(const EngineLock&) = delete;

  void lock() {
    if (mutex_ != nullptr) mutex_->lock();
    unwatched_.emplace();
    held_ = true;
  }
  void unlock() {
    held_ = false;
    unwatched_.reset();
    if (mutex_ != nullptr) mutex_->unlock();
  }
  bool held() const { return held_; }

  /// Waits for a notification, with the engine free meanwhile. There is a mutex.
  void wait(std::condition_variable& notified) {
    std::unique_lock adopted(*mutex_, std::adopt_lock);
    notified.wait(adopted);
    adopted.release();
  }

 private:
  std::mutex* mutex_;
  bool held_ = false;
  std::optional<detail::Unwatched> unwatched_;
};

}  // namespace belfry::engine
