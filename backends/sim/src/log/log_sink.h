// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/current_slot.h"
#include "belfry/sim/log.h"

#include <cstddef>
#include <mutex>

namespace belfry::sim {

/// Writes the log of a backend.
class LogSink final : public OperationSink {
 public:
  /// Keeps at most `limit` operations.
  LogSink(std::size_t limit, bool keep_merge_sites) : log_(limit, keep_merge_sites) {}

  void on_operation(const Operation& operation) override {
    if (operation.agent.kind == AgentId::Kind::kHost) return append_of_host(operation);
    log_.append(operation);
  }
  const Log& log() const { return log_; }

 private:
  void append_of_host(Operation operation) {
    if (operation.site.empty()) operation.site = detail::submitting_site();
    log_.append(operation);
  }

  Log log_;
};

/// The same where several threads may report at a time.
class LockedLogSink final : public OperationSink {
 public:
  explicit LockedLogSink(LogSink& sink) : sink_(sink) {}

  void on_operation(const Operation& operation) override {
    const std::lock_guard lock(mutex_);
    sink_.on_operation(operation);
  }

 private:
  LogSink& sink_;
  std::mutex mutex_;
};

}  // namespace belfry::sim
