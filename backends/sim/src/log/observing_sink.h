// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/operation.h"
#include "engine/watch.h"

namespace belfry::sim {

/// Tells an observer of the operations of replicas and merges, and hands every operation on to
/// `log`, which may be null. Announcements of the engine, and of the begin and end of a run, are
/// left out: the engine and WatchedExecutor tell the observer themselves, with more.
class ObservingSink final : public OperationSink {
 public:
  ObservingSink(engine::Watch& watch, OperationSink* log) : watch_(watch), log_(log) {}

  void on_operation(const Operation& operation) override {
    if (log_ != nullptr) log_->on_operation(operation);
    const bool by_host = operation.agent.kind == AgentId::Kind::kHost;
    if (by_host && operation.kind != OperationKind::kHostValue) return;
    if (!is_step(operation.kind)) return;
    Observation seen;
    seen.actor = watch_.actor();
    seen.site = operation.site;
    seen.operation = &operation;
    watch_.tell(seen);
  }

 private:
  engine::Watch& watch_;
  OperationSink* log_;
};

}  // namespace belfry::sim
