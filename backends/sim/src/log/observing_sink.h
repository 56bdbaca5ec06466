// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/operation.h"
#include "engine/watch.h"
#include "trace/trace_observer.h"

#include <memory>

namespace belfry::sim {

/// Tells an observer of the operations of replicas and merges, and hands every operation on to
/// `log`, which may be null. Announcements of the engine, and of the begin and end of a run, are
/// left out: the engine and WatchedExecutor tell the observer themselves, with more. A trace hears
/// of the begin and end of a run, and of the values of variables, here.
class ObservingSink final : public OperationSink, public belfry::detail::VariableTap {
 public:
  /// `trace` may be null.
  ObservingSink(engine::Watch& watch, OperationSink* log, TraceObserver* trace)
      : watch_(watch), log_(log), trace_(trace) {}

  void on_operation(const Operation& operation) override {
    if (log_ != nullptr) log_->on_operation(operation);
    const bool by_host = operation.agent.kind == AgentId::Kind::kHost;
    if (by_host && operation.kind != OperationKind::kHostValue) return;
    if (!is_step(operation.kind)) {
      if (trace_ != nullptr) trace_->run(operation, watch_.actor());
      return;
    }
    Observation seen;
    seen.actor = watch_.actor();
    seen.site = operation.site;
    seen.operation = &operation;
    watch_.tell(seen);
  }
  void made(const std::shared_ptr<const belfry::detail::VariableView>& variable) noexcept override {
    trace_->made(variable, watch_.actor());
  }
  void changed(const belfry::detail::VariableView& variable) noexcept override {
    trace_->changed(variable, watch_.actor());
  }

 private:
  engine::Watch& watch_;
  OperationSink* log_;
  TraceObserver* trace_;
};

}  // namespace belfry::sim
