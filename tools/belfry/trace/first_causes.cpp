// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "trace/first_causes.h"

#include "trace/data_flow.h"

#include <cstdint>

namespace belfry::tool {
namespace {

// The steps of a trace and the consequences of each, by index.
class Consequences {
 public:
  explicit Consequences(const Trace& trace) : flow_(trace), next_(trace.steps.size()) {
    std::vector<std::size_t> last(trace.agents.size(), kNone);  // Of each agent.
    for (std::size_t i = 0; i < trace.steps.size(); ++i) {
      const TraceStep& step = trace.steps[i];
      std::size_t& before = last[static_cast<std::size_t>(step.agent)];
      if (before != kNone) next_[before].push_back(i);
      before = i;
      for (const std::int64_t number : step.after) add_edge(trace.find(number), i);
      for (const auto list :
           {&TraceStep::brings, &TraceStep::gets, &TraceStep::reads, &TraceStep::writes}) {
        for (const TraceValue& value : step.*list)
          add_edge(flow_.producer_of(value.buffer, step), i);
      }
    }
  }

  // Whether each step follows from any of the steps.
  std::vector<bool> of(const std::vector<const TraceStep*>& steps) const {
    std::vector<bool> follows(next_.size(), false);
    std::vector<std::size_t> open;
    open.reserve(steps.size());
    for (const TraceStep* const step : steps) open.push_back(index_of(*step));
    while (!open.empty()) {
      const std::size_t at = open.back();
      open.pop_back();
      for (const std::size_t next : next_[at]) {
        if (follows[next]) continue;
        follows[next] = true;
        open.push_back(next);
      }
    }
    return follows;
  }

  std::size_t index_of(const TraceStep& step) const { return flow_.index_of(step); }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  void add_edge(const TraceStep* before, std::size_t index) {
    if (before != nullptr) next_[index_of(*before)].push_back(index);
  }

  DataFlow flow_;
  std::vector<std::vector<std::size_t>> next_;
};

// Marks differences with a cause among the differences, in a trace.
void mark(const Trace& trace, const std::vector<StepDifference>& differences,
          const TraceStep* StepDifference::* side, std::vector<bool>& follows) {
  const Consequences consequences(trace);
  std::vector<const TraceStep*> steps;
  for (const StepDifference& difference : differences) {
    if (difference.*side != nullptr) steps.push_back(difference.*side);
  }
  const std::vector<bool> reached = consequences.of(steps);
  for (std::size_t i = 0; i < differences.size(); ++i) {
    const TraceStep* const step = differences[i].*side;
    if (step != nullptr && reached[consequences.index_of(*step)]) follows[i] = true;
  }
}

}  // namespace

std::vector<std::size_t> first_causes(const Trace& a, const Trace& b,
                                      const std::vector<StepDifference>& differences) {
  std::vector<bool> follows(differences.size(), false);
  mark(a, differences, &StepDifference::a, follows);
  mark(b, differences, &StepDifference::b, follows);
  std::vector<std::size_t> causes;
  for (std::size_t i = 0; i < differences.size(); ++i) {
    if (!follows[i]) causes.push_back(i);
  }
  if (causes.empty() && !differences.empty()) causes.push_back(0);
  return causes;
}

}  // namespace belfry::tool
