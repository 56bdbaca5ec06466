// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "trace/data_flow.h"

#include <iterator>

namespace belfry::tool {

DataFlow::DataFlow(const Trace& trace) : trace_(trace) {
  for (const TraceStep& step : trace.steps) {
    if (!is_work(step)) continue;
    for (const TraceValue& value : step.writes) {
      if (value.buffer >= 0) writes_[value.buffer].emplace(place_of(step), index_of(step));
    }
  }
}

const TraceStep* DataFlow::enqueued_by(const TraceStep& work) const {
  if (!is_work(work)) return nullptr;
  for (const std::int64_t number : work.after) {
    const TraceStep* const before = trace_.find(number);
    if (before != nullptr && before->kind == StepKind::kEnqueue) return before;
  }
  return nullptr;
}

std::int64_t DataFlow::place_of(const TraceStep& step) const {
  const TraceStep* const enqueued = enqueued_by(step);
  return enqueued == nullptr ? step.step : enqueued->step;
}

const TraceStep* DataFlow::producer_of(std::int64_t buffer, const TraceStep& step) const {
  const auto writes = writes_.find(buffer);
  if (writes == writes_.end()) return nullptr;
  const auto later = writes->second.lower_bound({place_of(step), 0});
  if (later == writes->second.begin()) return nullptr;
  return &trace_.steps[std::prev(later)->second];
}

}  // namespace belfry::tool
