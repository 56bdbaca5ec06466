// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "testing/trials/trial_counts.h"

#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace belfry::sim::testing {
namespace {

using Count = std::uint64_t TrialCounts::*;

constexpr std::pair<const char*, Count> kRows[] = {
    {"next_seed", &TrialCounts::next_seed},
    {"programs", &TrialCounts::programs},
    {"certified", &TrialCounts::certified},
    {"refuted", &TrialCounts::refuted},
    {"racy", &TrialCounts::racy},
    {"sampled", &TrialCounts::sampled},
    {"diverging", &TrialCounts::diverging},
    {"missed", &TrialCounts::missed},
    {"unequal", &TrialCounts::unequal},
    {"race_free", &TrialCounts::race_free},
    {"race_free_certified", &TrialCounts::race_free_certified},
    {"enumerated", &TrialCounts::enumerated},
    {"enumerated_certified", &TrialCounts::enumerated_certified},
    {"schedules", &TrialCounts::schedules},
};
static_assert(sizeof(kRows) / sizeof(kRows[0]) == sizeof(TrialCounts) / sizeof(std::uint64_t));

std::string share(std::uint64_t part, std::uint64_t whole) {
  const std::uint64_t tenths = whole == 0 ? 0 : 1000 * part / whole;
  return std::to_string(part) + " (" + std::to_string(tenths / 10) + '.' +
         std::to_string(tenths % 10) + " %)";
}

}  // namespace

void add(VerbCounts& counts, const Trial& trial) {
  if (!trial.expected || !trial.expected->second.empty()) return;
  std::set<std::string> verbs;
  for (const PublicStep& step : trial.program.replicas->steps[0]) {
    const bool counts_here = (step.axis > 0) == trial.program.replicas->has_groups();
    if (is_exchange(step) && counts_here) verbs.insert(verb_of(step));
  }
  for (const std::string& verb : verbs) {
    ++counts[verb].right;
    counts[verb].certified += trial.is_certified() ? 1 : 0;
  }
  if (!trial.wrong) return;
  const WrongTrial& wrong = *trial.wrong;
  ++counts[wrong.program.verb].wrong;
  const bool passes =
      wrong.verdict.level() == VerdictLevel::kCertified && wrong.outcome == *trial.expected;
  counts[wrong.program.verb].passed += passes ? 1 : 0;
}

std::string to_string(const VerbCounts& counts) {
  std::string text;
  for (const auto& [verb, count] : counts) {
    text += verb + ": right " + std::to_string(count.right) + ", CERTIFIED of these " +
            share(count.certified, count.right) + "; wrong " + std::to_string(count.wrong) +
            ", CERTIFIED as right " + std::to_string(count.passed) + '\n';
  }
  return text;
}

void TrialCounts::add(const Trial& trial) {
  const VerdictLevel level = trial.verdicts.front().level();
  ++programs;
  certified += level == VerdictLevel::kCertified ? 1 : 0;
  refuted += level == VerdictLevel::kRefuted ? 1 : 0;
  racy += level == VerdictLevel::kRacy ? 1 : 0;
  sampled += level == VerdictLevel::kSampled ? 1 : 0;
  diverging += trial.diverges() ? 1 : 0;
  missed += trial.diverges() && level != VerdictLevel::kRefuted ? 1 : 0;
  unequal += trial.verdicts.back().level() != level ? 1 : 0;
  const bool is_race_free = trial.program.is_private && !trial.has_groups();
  race_free += is_race_free ? 1 : 0;
  race_free_certified += is_race_free && trial.is_certified() ? 1 : 0;
  enumerated += trial.all ? 1 : 0;
  enumerated_certified += trial.all && trial.is_certified() ? 1 : 0;
  schedules += trial.schedules;
}

std::string to_string(const TrialCounts& counts) {
  std::string text;
  for (const auto& [name, count] : kRows) {
    text += std::string(name) + ' ' + std::to_string(counts.*count) + '\n';
  }
  return text;
}

TrialCounts counts_from(const std::string& text) {
  TrialCounts counts;
  std::istringstream lines(text);
  for (const auto& [name, count] : kRows) {
    std::string word;
    if (!(lines >> word >> counts.*count) || word != name) {
      throw std::runtime_error("the state has no count '" + std::string(name) + "'");
    }
  }
  return counts;
}

std::string shortfall_of(const TrialCounts& counts) {
  if (100 * counts.certified < 30 * counts.programs) return "less than 30 % are CERTIFIED";
  if (100 * counts.diverging < 10 * counts.programs) return "less than 10 % diverge";
  if (100 * counts.race_free_certified < 95 * counts.race_free) {
    return "less than 95 % of the programs without a race by construction are CERTIFIED";
  }
  return "";
}

std::string summary_of(const TrialCounts& counts) {
  const std::uint64_t all = counts.programs;
  return std::to_string(all) + " programs, " + std::to_string(counts.schedules) +
         " schedules; CERTIFIED " + share(counts.certified, all) + ", REFUTED " +
         share(counts.refuted, all) + ", RACY " + share(counts.racy, all) + ", SAMPLED " +
         share(counts.sampled, all) + "\ndiverging " + share(counts.diverging, all) +
         ", not REFUTED of these " + std::to_string(counts.missed) + ", with two levels " +
         std::to_string(counts.unequal) + "; without a race by construction " +
         std::to_string(counts.race_free) + ", CERTIFIED of these " +
         share(counts.race_free_certified, counts.race_free) + "\nwith every schedule tried " +
         std::to_string(counts.enumerated) + ", CERTIFIED of these " +
         share(counts.enumerated_certified, counts.enumerated) + '\n';
}

}  // namespace belfry::sim::testing
