// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/detail/trace_sink.h"

#include <algorithm>

namespace belfry::detail {

TraceSink::TraceSink(TraceFile& trace, const TraceHeader& header, OperationSink* next,
                     CallSite site)
    : recorder_(trace.writer(), -1, nullptr), next_(next) {
  trace.writer().begin(header, site);
}

void TraceSink::on_operation(const Operation& operation) {
  recorder_.locked([&] {
    if (operation.kind == OperationKind::kRunBegin) open_.push_back({operation.value, ++begun_});
    const TraceActor actor = actor_of(operation);
    recorder_.operation(operation, actor, {});
    if (operation.kind == OperationKind::kRunEnd) {
      std::erase_if(open_, [&](const Run& run) { return run.number == actor.run; });
    }
  });
  if (next_ != nullptr) next_->on_operation(operation);
}

void TraceSink::made(const std::shared_ptr<const VariableView>& variable) noexcept {
  recorder_.locked([&] { recorder_.variables().made(variable, actor_here()); });
}

void TraceSink::changed(const VariableView& variable) noexcept {
  recorder_.locked([&] { recorder_.variables().changed(variable, actor_here()); });
}

TraceActor TraceSink::actor_here() const {
  const AgentId agent = agent_here();
  const bool is_outside = agent.kind == AgentId::Kind::kHost || open_.empty();
  return {agent, is_outside ? 0 : open_.back().number};
}

// Runs nest: the run is the innermost one with the ordinal. The start of a replica tells none.
TraceActor TraceSink::actor_of(const Operation& operation) const {
  const auto own = std::find_if(open_.rbegin(), open_.rend(),
                                [&](const Run& run) { return run.ordinal == operation.value; });
  const bool is_known = own != open_.rend() && operation.kind != OperationKind::kStart;
  if (is_known) return {operation.agent, own->number};
  return {operation.agent, open_.empty() ? 0 : open_.back().number};
}

}  // namespace belfry::detail
