// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "explore/agent_steps.h"

#include "engine/digest.h"

#include <algorithm>

namespace belfry::sim {
namespace {

using Kind = Observation::Kind;

// The bytes of all footprints: a piece of work with different operands is different work.
std::uint64_t bytes_of(const Observation& seen) {
  std::uint64_t bytes = 0;
  for (const Footprint& footprint : seen.footprints) bytes += footprint.end - footprint.begin;
  return bytes;
}

// Whether an observation is a step of its agent in every schedule. A replica waits for a variable
// of the first replica in some schedules alone.
bool is_step_of_agent(const Observation& seen) {
  switch (seen.kind) {
    case Kind::kRunBegan:
    case Kind::kAllocated:
    case Kind::kSubmitted:
    case Kind::kRecorded:
    case Kind::kWaitQueued:
    case Kind::kHostWaited:
    case Kind::kHostRead:
    case Kind::kQueried:
      return true;
    case Kind::kOperation:
      return seen.operation->kind != OperationKind::kWait;
    default:
      return false;
  }
}

}  // namespace

void AgentSteps::add(const Observation& seen) {
  if (seen.actor.agent.kind == AgentId::Kind::kStream || !is_step_of_agent(seen)) return;
  std::vector<Step>& steps = steps_[seen.actor];
  Step step{.kind = seen.kind, .number = seen.record + bytes_of(seen), .site = seen.site};
  if (seen.kind == Kind::kSubmitted) {
    step.name = seen.name;
    for (const StreamItem& item : seen.items)
      work_[item.stream][item.item] = {&steps, steps.size()};
  }
  if (seen.operation != nullptr) {
    step.operation = seen.operation->kind;
    step.number = seen.operation->subject;
    step.digest = seen.operation->value;
  }
  steps.push_back(step);
}

void AgentSteps::add_digests(const Log& log) {
  for (const LogRecord& record : log.records()) {
    if (record.agent_kind != AgentId::Kind::kStream) continue;
    const auto stream = work_.find(record.agent_index);
    if (stream == work_.end()) continue;
    const auto place = stream->second.find(record.subject);
    if (place == stream->second.end()) continue;
    std::uint64_t& digest = (*place->second.steps)[place->second.index].digest;
    digest = engine::mix(digest, record.value);
  }
}

bool AgentSteps::same(const Step& a, const Step& b) {
  return a.kind == b.kind && a.operation == b.operation && a.name == b.name &&
         a.number == b.number && a.digest == b.digest;
}

std::string AgentSteps::text(const Step* step) {
  if (step == nullptr) return "nothing";
  std::string text =
      step->kind == Kind::kOperation ? to_string(step->operation) : to_string(step->kind);
  if (!step->name.empty()) text += ' ' + std::string(step->name);
  if (step->kind == Kind::kSubmitted) text += ", data " + std::to_string(step->digest);
  return step->site.empty() ? text : text + ", " + to_string(step->site);
}

std::optional<std::string> difference(const AgentSteps& first, const AgentSteps& second) {
  using Steps = std::vector<AgentSteps::Step>;
  std::map<Actor, std::pair<const Steps*, const Steps*>> both;
  for (const auto& [actor, steps] : first.steps_) both[actor].first = &steps;
  for (const auto& [actor, steps] : second.steps_) both[actor].second = &steps;
  static const Steps kNoSteps;
  for (const auto& [actor, pair] : both) {
    const Steps& a = pair.first == nullptr ? kNoSteps : *pair.first;
    const Steps& b = pair.second == nullptr ? kNoSteps : *pair.second;
    const auto [at, there] = std::ranges::mismatch(a, b, AgentSteps::same);
    if (at == a.end() && there == b.end()) continue;
    const std::string one = AgentSteps::text(at == a.end() ? nullptr : &*at);
    const std::string two = AgentSteps::text(there == b.end() ? nullptr : &*there);
    return "step " + std::to_string(at - a.begin() + 1) + " of " + to_string(actor) + ": " + one +
           (one == two ? ", with other data in the second schedule"
                       : "; in the second schedule " + two);
  }
  return std::nullopt;
}

}  // namespace belfry::sim
