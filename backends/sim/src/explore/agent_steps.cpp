// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "explore/agent_steps.h"

#include "engine/digest.h"

#include <algorithm>
#include <utility>

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

// A copy is memory of the size of the storage, and work that reads the storage unless the write
// needs none of its bytes.
bool AgentSteps::is_of_copy(const Observation& seen) {
  const auto found = copies_.find(seen.actor);
  if (found == copies_.end()) return false;
  const auto [storage, is_allocated] = found->second;
  if (seen.kind == Kind::kAllocated && !is_allocated &&
      bytes_of(seen) == storage.end - storage.begin) {
    found->second.is_allocated = true;
    return true;
  }
  copies_.erase(found);
  return is_allocated && seen.kind == Kind::kSubmitted && seen.name == "copy" &&
         std::ranges::any_of(seen.footprints, [&](const Footprint& footprint) {
           return footprint.mode == AccessMode::kRead && footprint.resource == storage.resource;
         });
}

void AgentSteps::add(const Observation& seen) {
  if (seen.actor.agent.kind == AgentId::Kind::kStream) return;
  if (seen.kind == Kind::kCopiedOnWrite) copies_[seen.actor] = {seen.footprints.front(), false};
  if (!is_step_of_agent(seen) || is_of_copy(seen)) return;
  const std::uint32_t actor = actors_.of(seen.actor);
  Step& step = new_step();
  step = {.kind = seen.kind,
          .operation = {},
          .actor = actor,
          .name_length = 0,
          .line = seen.site.line,
          .name = nullptr,
          .file = seen.site.file,
          .number = 0,
          .digest = 0};
  if (seen.operation != nullptr) {
    step.operation = seen.operation->kind;
    step.number = seen.operation->subject;
    step.digest = seen.operation->value;
    return;
  }
  step.number = seen.record + bytes_of(seen);
  if (seen.kind != Kind::kSubmitted) return;
  step.name = seen.name.data();
  step.name_length = static_cast<std::uint32_t>(seen.name.size());
  for (const StreamItem& item : seen.items) {
    std::vector<std::uint32_t>& positions = work_[static_cast<std::size_t>(item.stream)];
    if (item.item >= positions.size()) positions.resize(item.item + 1, kNoStep);
    positions[item.item] = static_cast<std::uint32_t>(count_);
  }
}

void AgentSteps::add_block() {
  blocks_.push_back(std::make_unique_for_overwrite<Step[]>(kBlock));
  latest_ = blocks_.back().get();
  room_ = blocks_.size() * kBlock;
}

void AgentSteps::add_digests(const Log& log) {
  for (const LogRecord& record : log.records()) {
    if (record.agent_kind != AgentId::Kind::kStream) continue;
    const auto* const positions = work_.find(static_cast<std::size_t>(record.agent_index));
    if (positions == nullptr || record.subject >= positions->size()) continue;
    const std::uint32_t position = (*positions)[record.subject];
    if (position == kNoStep) continue;
    std::uint64_t& digest = at(position - 1).digest;
    digest = engine::mix(digest, record.value);
  }
}

std::map<Actor, AgentSteps::Steps> AgentSteps::by_actor() const {
  std::vector<Steps> lists(actors_.actors().size());
  for (std::size_t i = 0; i < count_; ++i) lists[at(i).actor].push_back(&at(i));
  std::map<Actor, Steps> by_actor;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    by_actor.emplace(actors_.actors()[i], std::move(lists[i]));
  }
  return by_actor;
}

bool AgentSteps::same(const Step& a, const Step& b) {
  return a.kind == b.kind && a.operation == b.operation && a.work() == b.work() &&
         a.number == b.number && a.digest == b.digest;
}

std::string AgentSteps::text(const Step* step) {
  if (step == nullptr) return "nothing";
  std::string text =
      step->kind == Kind::kOperation ? to_string(step->operation) : to_string(step->kind);
  if (!step->work().empty()) text += ' ' + std::string(step->work());
  if (step->kind == Kind::kSubmitted) text += ", data " + std::to_string(step->digest);
  const CallSite site{step->file, step->line};
  return site.empty() ? text : text + ", " + to_string(site);
}

std::optional<std::string> difference(const AgentSteps& first, const AgentSteps& second) {
  const auto ours = first.by_actor();
  const auto theirs = second.by_actor();
  std::map<Actor, std::pair<const AgentSteps::Steps*, const AgentSteps::Steps*>> both;
  for (const auto& [actor, steps] : ours) both[actor].first = &steps;
  for (const auto& [actor, steps] : theirs) both[actor].second = &steps;
  static const AgentSteps::Steps kNoSteps;
  const auto same = [](const auto* a, const auto* b) { return AgentSteps::same(*a, *b); };
  for (const auto& [actor, pair] : both) {
    const AgentSteps::Steps& a = pair.first == nullptr ? kNoSteps : *pair.first;
    const AgentSteps::Steps& b = pair.second == nullptr ? kNoSteps : *pair.second;
    const auto [at, there] = std::ranges::mismatch(a, b, same);
    if (at == a.end() && there == b.end()) continue;
    const std::string one = AgentSteps::text(at == a.end() ? nullptr : *at);
    const std::string two = AgentSteps::text(there == b.end() ? nullptr : *there);
    return "step " + std::to_string(at - a.begin() + 1) + " of " + to_string(actor) + ": " + one +
           (one == two ? ", with other data in the second schedule"
                       : "; in the second schedule " + two);
  }
  return std::nullopt;
}

}  // namespace belfry::sim
