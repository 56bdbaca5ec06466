// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "trace/variable_states.h"

#include "trace/json_object.h"
#include "trace/step_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace belfry::tool {
namespace {

bool is_mirrored(const Trace& trace, std::int64_t variable) {
  const auto known = trace.variables.find(variable);
  return known != trace.variables.end() && known->second.kind == "mirrored";
}

int owner_of(const Trace& trace, const TraceStep& step) {
  const auto is_owner = [&](const TraceAgent& agent) {
    return agent.kind == TraceAgent::Kind::kReplica && agent.index == step.replica &&
           agent.host == trace.agent_of(step).host;
  };
  const auto owner = std::ranges::find_if(trace.agents, is_owner);
  if (owner != trace.agents.end()) return static_cast<int>(owner - trace.agents.begin());
  const TraceAgent& agent = trace.agent_of(step);
  return agent.kind == TraceAgent::Kind::kReplica ? step.agent : -1 - static_cast<int>(agent.host);
}

std::string owner_words(const Trace& trace, int owner) {
  return owner < 0 ? "each replica" : agent_words(trace, owner);
}

}  // namespace

const TraceStep* VariableStates::add(const JobStep& at) {
  const TraceStep& step = job_.step(at);
  const bool writes = step.kind == StepKind::kVariableWrite || step.kind == StepKind::kVariableMade;
  if (!writes || step.writes.empty() || step.variable < 0) return nullptr;
  const int owner = owner_of(job_.trace_of(at), step);
  const auto [place, added] = last_.try_emplace({at.process, step.variable, owner}, at);
  if (added) return nullptr;
  const TraceStep* const before = &job_.step(place->second);
  place->second = at;
  return before;
}

std::vector<std::string> VariableStates::lines() const {
  std::vector<std::string> lines;
  for (auto first = last_.begin(); first != last_.end();) {
    const auto same = [&first](const auto& entry) {
      return entry.first.variable == first->first.variable &&
             entry.first.process == first->first.process;
    };
    const auto end = std::find_if_not(first, last_.end(), same);
    const TraceStep& one = job_.step(first->second);
    const Trace& trace = job_.trace_of(first->second);
    const bool equal = std::all_of(first, end, [&](const auto& entry) {
      return !differ(job_.step(entry.second).writes, one.writes);
    });
    const std::string name = trace.variable_of(one);
    if (!equal && is_mirrored(trace, one.variable)) {
      lines.push_back(name + ": DIFFERS, though it is mirrored (SEM-11)");
    }
    for (auto entry = first; entry != end; ++entry) {
      const TraceStep& step = job_.step(entry->second);
      const bool all = equal && std::next(first) != end;
      lines.push_back(fmt::format("{} of {}: {}{}, written in step {}", name,
                                  all ? "each replica" : owner_words(trace, entry->first.agent),
                                  to_string(step.writes),
                                  step.version < 0 ? "" : fmt::format(", version {}", step.version),
                                  job_.number_of(entry->second)));
      if (all) break;
    }
    first = end;
  }
  return lines;
}

std::vector<std::string> VariableStates::json() const {
  std::vector<std::string> components;
  for (const auto& [key, at] : last_) {
    const TraceStep& step = job_.step(at);
    components.push_back(JsonObject()
                             .text("variable", job_.trace_of(at).variable_of(step))
                             .text("agent", owner_words(job_.trace_of(at), key.agent))
                             .number("version", step.version)
                             .text("value", to_string(step.writes))
                             .text("step", job_.number_of(at))
                             .str());
  }
  return components;
}

}  // namespace belfry::tool
