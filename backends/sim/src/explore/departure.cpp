// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "explore/departure.h"

namespace belfry::sim {
namespace {

using AgentKind = AgentId::Kind;

std::string name_of(const AgentId& agent) {
  switch (agent.kind) {
    case AgentKind::kReplica:
      return "replica " + std::to_string(agent.index);
    case AgentKind::kMerge:
      return "the merge";
    case AgentKind::kStream:
      return to_string(agent);
    case AgentKind::kHost:
      break;
  }
  return "the caller";
}

bool starts(const AgentAtChoice& at) { return at.agent.kind == AgentKind::kReplica && !at.begun; }

std::string step_of(const AgentAtChoice& at) {
  if (at.agent.kind == AgentKind::kStream) return name_of(at.agent) + " works";
  if (starts(at)) return name_of(at.agent) + " starts";
  const std::string step = name_of(at.agent) + " goes on";
  return at.site.empty() ? step : step + " from " + to_string(at.site);
}

std::string text_of(const Departure& departure) {
  const std::string answer = std::to_string(departure.value);
  switch (departure.kind) {
    case ChoiceKind::kAgent: {
      const AgentAtChoice& passed_over = departure.passed_over;
      if (!departure.names_agents) return "agent " + answer + " goes before agent 0";
      const bool alike = starts(departure.chosen) && starts(passed_over);
      return step_of(departure.chosen) + " before " +
             (alike ? name_of(passed_over.agent) : step_of(passed_over));
    }
    case ChoiceKind::kWork:
      return answer + (departure.value == 1 ? " piece" : " pieces") +
             " of stream work before the caller goes on";
    case ChoiceKind::kOrder:
      return "order " + answer + " of " + std::to_string(departure.count) + " for a reduction";
  }
  return {};
}

}  // namespace

std::string to_string(const Departure& departure) {
  const std::string run =
      departure.run > 1 ? "in run " + std::to_string(departure.run) + ", " : std::string();
  return run + text_of(departure);
}

}  // namespace belfry::sim
