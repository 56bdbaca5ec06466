// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "score.h"

#include "belfry/sim/explore.h"

#include <algorithm>
#include <exception>
#include <set>
#include <string>

namespace belfry::bugs {
namespace {

using sim::Race;
using sim::RaceSide;
using sim::Verdict;
using sim::VerdictLevel;

sim::Options options_of(int devices, std::uint64_t seed) {
  return {.devices = devices, .record = false, .seed = seed};
}

bool depends_on_replicas(const Program& program, int devices) {
  return outcome_of(program, devices, 0) != outcome_of(program, 1, 0);
}

// `R1 of run 1` is R1.
bool is_agent(const RaceSide& side, const std::string& agent) {
  return side.agent == agent || side.agent.starts_with(agent + " ");
}

bool names(const Race& race, const std::array<std::string, 2>& agents) {
  return (is_agent(race.first, agents[0]) && is_agent(race.second, agents[1])) ||
         (is_agent(race.first, agents[1]) && is_agent(race.second, agents[0]));
}

// Whether `text` has `place`, and not as the beginning of a longer number.
bool has_place(const std::string& text, const std::string& place) {
  const std::size_t at = text.find(place);
  if (place.empty() || at == std::string::npos) return false;
  const std::size_t end = at + place.size();
  return end == text.size() || text[end] < '0' || text[end] > '9';
}

bool is_marked(const RaceSide& side, const Marks& marks) {
  return side.place.empty() || std::ranges::count(marks, side.place) > 0;
}

// Scores a condition that the mutant does not meet: `a query by R1 of run 1, train.cpp:5`.
void score_evidence(const Bug& bug, const Marks& marks, const std::string& evidence, Score& score) {
  const auto named = [&](const std::string& agent) {
    return evidence.find("by " + agent + " ") != std::string::npos ||
           evidence.find("by " + agent + ",") != std::string::npos;
  };
  if (std::ranges::all_of(bug.agents, named)) score.agents = true;
  for (const std::string& place : marks) score.lines += has_place(evidence, place) ? 1 : 0;
}

// Scores the races of a mutant, and without races its conditions.
void score_verdict(const Bug& bug, const Marks& marks, Score& score) {
  const sim::VerdictReport& report = score.mutant.report();
  std::set<std::string> lines;
  for (const Race& race : report.races) {
    if (!is_marked(race.first, marks) || !is_marked(race.second, marks)) ++score.noise;
    if (names(race, bug.agents)) score.agents = true;
    lines.insert(race.first.place);
    lines.insert(race.second.place);
  }
  for (const std::string& place : marks) {
    score.lines += !place.empty() && lines.contains(place) ? 1 : 0;
  }
  if (!report.races.empty()) return;
  for (const sim::Condition& condition : report.conditions) {
    if (!condition.holds) score_evidence(bug, marks, condition.evidence, score);
  }
}

// Scores a mutant whose only outcome is an error.
void score_error(const Bug& bug, const Marks& marks, Score& score) {
  const std::string text = outcome_of(bug.mutant(), bug.devices, 0);
  score.found = text.starts_with("BF-");
  score.agents = true;
  for (const std::string& agent : bug.agents) {
    const std::string replica = "replica " + agent.substr(1) + "  ";
    score.agents = score.agents && (agent[0] == 'H' || text.find(replica) != std::string::npos);
  }
  for (const std::string& place : marks) score.lines += has_place(text, place) ? 1 : 0;
}

}  // namespace

std::string outcome_of(const Program& program, int devices, std::uint64_t seed) {
  sim::Backend backend{options_of(devices, seed)};
  try {
    std::string text;
    for (const double value : program(backend)) text += std::to_string(value) + " ";
    return text;
  } catch (const std::exception& exception) {
    return exception.what();
  }
}

Distinct distinct_outcomes(const Program& program, int devices) {
  std::set<std::string> outcomes;
  Distinct distinct{};
  std::uint64_t seed = 0;
  for (std::size_t i = 0; i < kSeeds.size(); ++i) {
    for (; seed < static_cast<std::uint64_t>(kSeeds[i]); ++seed) {
      outcomes.insert(outcome_of(program, devices, seed));
    }
    distinct[i] = outcomes.size();
  }
  return distinct;
}

Score score_of(const Bug& bug, const Marks& marks) {
  const sim::Options options{.devices = bug.devices, .seed = 7};
  Score score{.mutant_outcomes = distinct_outcomes(bug.mutant(), bug.devices),
              .twin_outcomes = distinct_outcomes(bug.twin(), bug.devices).back(),
              .mutant = sim::explore(options, bug.mutant()),
              .twin = sim::explore(options, bug.twin())};
  score.marked = static_cast<int>(
      std::ranges::count_if(marks, [](const std::string& place) { return !place.empty(); }));
  score.noise = static_cast<int>(score.twin.report().races.size());
  const VerdictLevel level = score.mutant.level();
  switch (bug.effect) {
    case Effect::kDiverges:
      score.found = level == VerdictLevel::kRefuted || level == VerdictLevel::kRacy;
      score_verdict(bug, marks, score);
      break;
    case Effect::kRace:
      score.found = level == VerdictLevel::kRacy;
      score_verdict(bug, marks, score);
      break;
    case Effect::kError:
      score_error(bug, marks, score);
      break;
    case Effect::kValue:
      score.depends_on_replicas = depends_on_replicas(bug.mutant(), bug.devices);
      score.twin_depends = depends_on_replicas(bug.twin(), bug.devices);
      score.found = score.depends_on_replicas && !score.twin_depends;
      break;
  }
  return score;
}

}  // namespace belfry::bugs
