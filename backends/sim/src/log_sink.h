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
  LogSink(std::size_t limit, bool threads) : log_(limit), threads_(threads) {}

  void on_operation(const Operation& operation) override {
    if (threads_) mutex_.lock();
    log_.append(operation);
    if (threads_) mutex_.unlock();
  }
  const Log& log() const { return log_; }

 private:
  Log log_;
  bool threads_;
  std::mutex mutex_;
};

}  // namespace belfry::sim
