// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/log.h"

#include <cstddef>
#include <mutex>

namespace belfry::sim {

/// Writes the log of a backend.
class LogSink final : public OperationSink {
 public:
  /// Keeps at most `limit` operations. `threads`: several may report at a time.
  LogSink(std::size_t limit, bool threads) : threads_(threads), log_(limit) {}

  void on_operation(const Operation& operation) override {
    if (threads_) [[unlikely]] {
      return append_locked(operation);
    }
    log_.append(operation);
  }
  const Log& log() const { return log_; }

 private:
  // Apart, so that the usual way through needs no stack.
  [[gnu::noinline]] void append_locked(const Operation& operation) {
    const std::lock_guard lock(mutex_);
    log_.append(operation);
  }

  bool threads_;  // Beside what every operation touches.
  Log log_;
  std::mutex mutex_;
};

}  // namespace belfry::sim
