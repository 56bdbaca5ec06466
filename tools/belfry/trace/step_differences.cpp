// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "trace/step_differences.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>

namespace belfry::tool {
namespace {

using Steps = std::vector<const TraceStep*>;

// `replica 0.1`: kind, host and index. Streams have a role on a replica instead of an index.
std::string key_of(const TraceAgent& agent) {
  if (agent.kind != TraceAgent::Kind::kStream) {
    return fmt::format("{} {}.{}", static_cast<int>(agent.kind), agent.host, agent.index);
  }
  return fmt::format("stream {}.{} {}", agent.host, agent.replica, agent.role);
}

bool is_compared(const TraceStep& step) {
  switch (step.kind) {
    case StepKind::kRecord:
    case StepKind::kWait:
    case StepKind::kAllocate:
    case StepKind::kFree:
    case StepKind::kHostValue:
    case StepKind::kOther:
      return false;
    default:
      return !step.bookkeeping;
  }
}

std::map<std::string, Steps> steps_by_agent(const Trace& trace, bool streams) {
  std::map<std::string, Steps> agents;
  for (const TraceStep& step : trace.steps) {
    const TraceAgent& agent = trace.agent_of(step);
    const bool of_stream =
        agent.kind == TraceAgent::Kind::kStream || step.kind == StepKind::kHostWait;
    const bool left_out = of_stream && !streams;
    if (!left_out && is_compared(step)) agents[key_of(agent)].push_back(&step);
  }
  return agents;
}

class Comparison {
 public:
  Comparison(const Trace& a, const Trace& b) : a_(a), b_(b) {}

  StepDifferences take() {
    const bool streams = a_.backend == b_.backend;
    if (!streams) {
      differences_.notes.push_back("the steps of streams were not compared: A ran on " +
                                   a_.backend + ", B on " + b_.backend);
    }
    const auto of_a = steps_by_agent(a_, streams);
    auto of_b = steps_by_agent(b_, streams);
    for (const auto& [key, steps] : of_a) {
      compare(steps, of_b[key]);
      of_b.erase(key);
    }
    for (const auto& [key, steps] : of_b) compare({}, steps);
    separate_lines();
    if (not_run_ > 0) {
      differences_.notes.push_back(fmt::format(
          "the work of {} streams ends early in one of the runs, in which nothing waits for it",
          not_run_));
    }
    if (unknown_ > 0) {
      differences_.notes.push_back(
          fmt::format("{} values were not compared: a trace lacks their contents", unknown_));
    }
    const auto place = [](const StepDifference& difference) {
      const bool in_a = difference.a != nullptr;
      return std::tuple((in_a ? difference.a : difference.b)->step, !in_a);
    };
    std::ranges::sort(differences_.all, [&](const auto& one, const auto& other) {
      return place(one) < place(other);
    });
    return std::move(differences_);
  }

 private:
  using Kind = StepDifference::Kind;

  bool are_same(const TraceStep& a, const TraceStep& b) const {
    const auto stream_of = [](const Trace& trace, const TraceStep& step) {
      return step.stream < 0 ? "" : key_of(trace.agents[static_cast<std::size_t>(step.stream)]);
    };
    return a.kind == b.kind && a.group == b.group && a.op == b.op && a.error == b.error &&
           a.failed == b.failed && are_same_names(a, b) && a.replicas == b.replicas &&
           (a_.backend != b_.backend || stream_of(a_, a) == stream_of(b_, b));
  }

  // Numbers of variables depend on the program.
  bool are_same_names(const TraceStep& a, const TraceStep& b) const {
    if ((a.variable < 0) != (b.variable < 0)) return false;
    return a.variable >= 0 ? a_.variable_of(a) == b_.variable_of(b) : a.name == b.name;
  }

  // An edit moves each line of A to a single line of B. Pairs with a second line of B are
  // differences: an agent came to another call of the same kind.
  void separate_lines() {
    std::map<std::string, std::map<std::string, int>> moves;  // By line of A: lines of B, counts.
    for (const auto& [kind, a, b] : pairs_) ++moves[a->line][b->line];
    for (const StepDifference& pair : pairs_) {
      const auto& counts = moves[pair.a->line];
      const auto usual =
          std::ranges::max_element(counts, [&pair](const auto& one, const auto& other) {
            const auto weight = [&pair](const auto& move) {
              return std::pair(move.second, move.first == pair.a->line);
            };
            return weight(one) < weight(other);
          });
      if (usual->first != pair.b->line) {
        differences_.all.push_back(pair);
      } else if (pair.a->line != pair.b->line) {
        differences_.lines.push_back(pair);
      }
    }
  }

  bool is_of_stream(const Steps& a, const Steps& b) const {
    const TraceAgent& agent = a.empty() ? b_.agent_of(*b.front()) : a_.agent_of(*a.front());
    return agent.kind == TraceAgent::Kind::kStream;
  }

  void compare(const Steps& a, const Steps& b) {
    if (a.empty() && b.empty()) return;
    std::size_t i = 0;
    std::size_t j = 0;
    const auto same_at = [&](std::size_t in_a, std::size_t in_b) {
      return in_a < a.size() && in_b < b.size() && are_same(*a[in_a], *b[in_b]);
    };
    while (i < a.size() && j < b.size()) {
      if (same_at(i, j)) {
        compare_values(*a[i++], *b[j++]);
      } else if (same_at(i + 1, j)) {
        differences_.all.push_back({Kind::kMissing, a[i++], nullptr});
      } else if (same_at(i, j + 1)) {
        differences_.all.push_back({Kind::kMissing, nullptr, b[j++]});
      } else {
        differences_.all.push_back({Kind::kStep, a[i], b[j]});
        return;
      }
    }
    // Nothing waits for the rest of the work in one of the runs.
    if (is_of_stream(a, b)) {
      if (i < a.size() || j < b.size()) ++not_run_;
      return;
    }
    // The end of a cut trace is no end of agents.
    if (i < a.size() && b_.cut == 0) differences_.all.push_back({Kind::kMissing, a[i], nullptr});
    if (j < b.size() && a_.cut == 0) differences_.all.push_back({Kind::kMissing, nullptr, b[j]});
  }

  void compare_values(const TraceStep& a, const TraceStep& b) {
    if (differ(a.brings, b.brings) || differ(a.gets, b.gets) || differ(a.reads, b.reads) ||
        differ(a.writes, b.writes)) {
      differences_.all.push_back({Kind::kValues, &a, &b});
    } else if (!a.line.empty() && !b.line.empty()) {
      pairs_.push_back({Kind::kStep, &a, &b});
    }
    for (const auto list :
         {&TraceStep::brings, &TraceStep::gets, &TraceStep::reads, &TraceStep::writes}) {
      for (std::size_t k = 0; k < std::min((a.*list).size(), (b.*list).size()); ++k) {
        if (!(a.*list)[k].known() || !(b.*list)[k].known()) ++unknown_;
      }
    }
  }

  const Trace& a_;
  const Trace& b_;
  StepDifferences differences_;
  std::vector<StepDifference> pairs_;  // Equal steps with lines.
  std::int64_t unknown_ = 0;
  int not_run_ = 0;  // Streams.
};

}  // namespace

StepDifferences compare_steps(const Trace& a, const Trace& b) { return Comparison(a, b).take(); }

}  // namespace belfry::tool
