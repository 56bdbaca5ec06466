// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Tries verdicts on random programs, the seeds one after another. Stops at the first program that
// disproves a verdict, with the seed, the program, and two schedules as tokens.
//   verdict_soak run COUNT [STATE]  until COUNT programs are tried; goes on from the file STATE,
//                                   and keeps the counts there
//   verdict_soak every COUNT        until every schedule of COUNT programs is tried
//   verdict_soak racy COUNT         prints COUNT programs with races that never diverge
//   verdict_soak uncertified COUNT  prints COUNT programs without a race and without a certificate
//   verdict_soak verbs COUNT        COUNT programs of exchanges, and as many with a mistake; counts
//                                   by verb
//   verdict_soak show SEED [tiny]   prints a program and its verdict
// Exit status: 0, 1 for a disproved verdict, 2 for wrong arguments.
#include "testing/trials/trial.h"
#include "testing/trials/trial_counts.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

namespace belfry::sim::testing {
namespace {

constexpr std::uint64_t kSaved = 500;   // Programs between two states.
constexpr std::uint64_t kJudged = 500;  // Shares of fewer programs say little.
constexpr TrialPlan kAudited{.in_order = 0, .random = 0, .audits = true};
constexpr TrialPlan kMistaken{
    .size = TrialSize::kExchanges, .in_order = 4, .random = 12, .mistakes = true};
constexpr TrialPlan kEvery{.size = TrialSize::kTiny, .in_order = 300, .random = 0, .traces = true};

TrialCounts load(const std::string& path) {
  std::ifstream file(path);
  if (path.empty() || !file) return {};
  return counts_from({std::istreambuf_iterator<char>(file), {}});
}

// A state is replaced whole: an interruption loses the programs since the last state alone.
void save(const std::string& path, const TrialCounts& counts) {
  if (path.empty()) return;
  const std::string fresh = path + ".new";
  std::ofstream(fresh) << to_string(counts);
  std::filesystem::rename(fresh, path);
}

bool is_disproved(const Trial& trial) {
  const std::string fault = fault_of(trial);
  if (fault.empty()) return false;
  std::cout << "DISPROVED: " << fault << '\n' << to_string(trial) << std::flush;
  return true;
}

// Tries programs until `done`. Returns whether no verdict is disproved.
template <class Done>
bool soak(TrialCounts& counts, const TrialPlan& plan, const std::string& path, const Done& done) {
  while (!done(counts)) {
    const Trial trial = try_program(counts.next_seed, plan);
    if (is_disproved(trial)) return false;
    ++counts.next_seed;
    counts.add(trial);
    if (counts.programs % kSaved != 0) continue;
    save(path, counts);
    std::cout << summary_of(counts) << std::flush;
  }
  save(path, counts);
  return true;
}

int report(const TrialCounts& counts, bool holds, const std::string& shortfall) {
  std::cout << summary_of(counts) << (holds ? "0 verdicts disproved\n" : "1 verdict disproved\n");
  if (!shortfall.empty()) std::cout << "too few: " << shortfall << '\n';
  return holds && shortfall.empty() ? 0 : 1;
}

int count_verbs(std::uint64_t programs) {
  VerbCounts counts;
  for (std::uint64_t seed = 1; seed <= programs; ++seed) {
    const Trial trial = try_program(seed, kMistaken);
    if (is_disproved(trial)) return 1;
    add(counts, trial);
  }
  std::cout << to_string(counts);
  return 0;
}

// Races whose orders have one outcome.
bool is_harmless(const Trial& trial) {
  return trial.verdicts.front().level() == VerdictLevel::kRacy && !trial.diverges();
}
// Programs without a race by construction that have no certificate.
bool is_uncertified(const Trial& trial) {
  return trial.program.is_private && !trial.has_groups() && !trial.is_certified();
}

int print(std::uint64_t count, bool (*chosen)(const Trial&)) {
  for (std::uint64_t seed = 1; count != 0; ++seed) {
    const Trial trial = try_program(seed, {});
    if (!chosen(trial)) continue;
    std::cout << to_string(trial) << std::endl;
    --count;
  }
  return 0;
}

int main_with(const std::vector<std::string>& arguments) {
  const std::string& command = arguments.at(0);
  const std::uint64_t number = std::stoull(arguments.at(1));
  const std::string third = arguments.size() > 2 ? arguments[2] : "";
  if (command == "run" || command == "audit") {
    const bool audits = command == "audit";
    TrialCounts counts = load(third);
    const bool holds = soak(counts, audits ? kAudited : TrialPlan(), third,
                            [&](const TrialCounts& now) { return now.programs >= number; });
    const bool says_little = audits || counts.programs < kJudged;
    return report(counts, holds, says_little ? "" : shortfall_of(counts));
  }
  if (command == "every") {
    TrialCounts counts = load(third);
    const bool holds = soak(counts, kEvery, third,
                            [&](const TrialCounts& now) { return now.enumerated >= number; });
    return report(counts, holds, "");
  }
  if (command == "verbs") return count_verbs(number);
  if (command == "racy") return print(number, is_harmless);
  if (command == "uncertified") return print(number, is_uncertified);
  if (command != "show") throw std::invalid_argument("no command '" + command + "'");
  const Trial trial = try_program(number, third == "tiny" ? kEvery : TrialPlan());
  std::cout << to_string(trial);
  return is_disproved(trial) ? 1 : 0;
}

}  // namespace
}  // namespace belfry::sim::testing

int main(int count, char** arguments) {
  try {
    return belfry::sim::testing::main_with({arguments + 1, arguments + count});
  } catch (const std::exception& exception) {
    std::cerr << "verdict_soak: " << exception.what()
              << "; usage: verdict_soak run|audit|every COUNT [STATE], verbs|racy|uncertified "
                 "COUNT, show SEED "
                 "[tiny]\n";
    return 2;
  }
}
