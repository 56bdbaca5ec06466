// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "trace/first_causes.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace belfry::tool {
namespace {

// The steps of a trace and the consequences of each, by index.
class Consequences {
 public:
  explicit Consequences(const Trace& trace) : trace_(trace), next_(trace.steps.size()) {
    std::vector<std::size_t> last(trace.agents.size(), kNone);  // Of each agent.
    for (std::size_t i = 0; i < trace.steps.size(); ++i) add_writes(i);
    for (std::size_t i = 0; i < trace.steps.size(); ++i) {
      const TraceStep& step = trace.steps[i];
      std::size_t& before = last[static_cast<std::size_t>(step.agent)];
      if (before != kNone) next_[before].push_back(i);
      before = i;
      for (const std::int64_t number : step.after) add_edge(number, i);
      for (const auto list :
           {&TraceStep::brings, &TraceStep::gets, &TraceStep::reads, &TraceStep::writes}) {
        for (const TraceValue& value : step.*list) add_computed(value.buffer, i);
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

  std::size_t index_of(const TraceStep& step) const {
    return static_cast<std::size_t>(&step - trace_.steps.data());
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  static bool is_work(const TraceStep& step) {
    return step.kind == StepKind::kExecute || step.kind == StepKind::kCollective;
  }

  // The place of work in the program is the enqueueing, before the execution.
  std::int64_t place_of(const TraceStep& step) const {
    if (!is_work(step)) return step.step;
    for (const std::int64_t number : step.after) {
      const TraceStep* const before = trace_.find(number);
      if (before != nullptr && before->kind == StepKind::kEnqueue) return number;
    }
    return step.step;
  }

  void add_writes(std::size_t index) {
    const TraceStep& step = trace_.steps[index];
    if (!is_work(step)) return;
    for (const TraceValue& value : step.writes) {
      if (value.buffer >= 0) writes_[value.buffer].emplace(place_of(step), index);
    }
  }

  void add_edge(std::int64_t number, std::size_t index) {
    const TraceStep* const before = trace_.find(number);
    if (before != nullptr) next_[index_of(*before)].push_back(index);
  }

  // The last work on the buffer before the step.
  void add_computed(std::int64_t buffer, std::size_t index) {
    const auto writes = writes_.find(buffer);
    if (writes == writes_.end()) return;
    const auto later = writes->second.lower_bound({place_of(trace_.steps[index]), 0});
    if (later == writes->second.begin()) return;
    const std::size_t work = std::prev(later)->second;
    if (work != index) next_[work].push_back(index);
  }

  const Trace& trace_;
  std::vector<std::vector<std::size_t>> next_;
  // The work on each buffer: place in the program, index.
  std::map<std::int64_t, std::set<std::pair<std::int64_t, std::size_t>>> writes_;
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
