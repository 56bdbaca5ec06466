// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "explore/guided_chooser.h"

#include <algorithm>
#include <new>

namespace belfry::sim {

std::uint32_t GuidedChooser::next(std::uint32_t count) {
  const std::size_t index = asked_++;
  return index < answers_.size() ? std::min(answers_[index], count - 1) : 0;
}

std::uint32_t GuidedChooser::choose(ChoiceKind kind, std::uint32_t count) {
  const std::uint32_t value = next(count);
  if (value != 0) keep({.kind = kind, .count = count, .value = value, .run = run()});
  return value;
}

std::uint32_t GuidedChooser::choose_among(std::span<const AgentId> candidates) {
  const auto count = static_cast<std::uint32_t>(candidates.size());
  const std::uint32_t value = next(count);
  if (value != 0) {
    keep({.count = count,
          .value = value,
          .run = run(),
          .names_agents = true,
          .chosen = at_choice(candidates[value]),
          .passed_over = at_choice(candidates[0])});
  }
  return value;
}

void GuidedChooser::observe(const Observation& seen) {
  using Kind = Observation::Kind;
  try {
    if (seen.kind == Kind::kRunBegan) runs_.push_back(seen.run);
    if (seen.kind == Kind::kRunEnded && !runs_.empty()) runs_.pop_back();
    if (seen.actor.agent.kind == AgentId::Kind::kStream) return;
    CallSite& site = last_[seen.actor];
    if (!seen.site.empty()) site = seen.site;
  } catch (const std::bad_alloc&) {
    // A departure is told in fewer words.
  }
}

AgentAtChoice GuidedChooser::at_choice(const AgentId& agent) const {
  const auto found = last_.find(Actor{.agent = agent, .run = run()});
  if (found == last_.end()) return {.agent = agent};
  return {.agent = agent, .begun = true, .site = found->second};
}

void GuidedChooser::keep(const Departure& departure) {
  try {
    departures_.push_back(departure);
  } catch (const std::bad_alloc&) {
    // Choices are made on stacks that no exception may unwind.
  }
}

}  // namespace belfry::sim
