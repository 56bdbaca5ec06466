// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Prints the table of bug classes: what random schedules, explorations and a run with a single
// replica say about each mutant and its correct twin.
//   bug_table                    the table
//   bug_table explain N          the verdicts of bug N, in words
//   bug_table verdicts           the verdict of each mutant and twin, a line of JSON each
//   bug_table threads            the programs that fail in processes of their own
//   bug_table run N WHICH WHERE  the mutant or twin once, with replicas on threads or fibers
#include "belfry/sim/explore.h"
#include "belfry/sim/verdict_json.h"
#include "bug.h"
#include "marks.h"
#include "score.h"
#include "threads_table.h"

#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <vector>

namespace belfry::bugs {
namespace {

struct Totals {
  int bugs = 0;
  int found = 0;
  int agents = 0;
  int lines = 0;
  int marked = 0;
  int noise = 0;
  std::array<int, kSeeds.size()> seeds{};
};

Marks marks_of(const Bug& bug) {
  const std::map<int, Marks> marks = marks_in(BELFRY_BUGS_FOLDER, bug.file);
  const auto found = marks.find(bug.number);
  return found == marks.end() ? Marks{} : found->second;
}

std::string yes_or_no(bool yes) { return yes ? "yes" : "no"; }

// An error of host code outside replicas has no replica to name.
bool is_of_host(const Bug& bug) { return bug.effect == Effect::kError && bug.agents[0] == "H0"; }

// The cells of races and errors that name agents and lines; values have no accesses.
std::string cells_of_report(const Bug& bug, const Score& score) {
  if (bug.effect == Effect::kValue) return " | - | -";
  const std::string agents = is_of_host(bug) ? "-" : yes_or_no(score.agents);
  return " | " + agents + " | " + std::to_string(score.lines) + " of " +
         std::to_string(score.marked);
}

void print_row(const Bug& bug, const Score& score) {
  std::cout << "| " << bug.number << " | " << bug.name << " | " << to_string(bug.effect) << " |";
  for (const std::size_t count : score.mutant_outcomes) std::cout << ' ' << count;
  std::cout << " | " << score.twin_outcomes << " | " << to_string(score.mutant) << " | "
            << to_string(score.twin) << " | " << yes_or_no(score.found)
            << cells_of_report(bug, score) << " | " << score.noise << " |\n";
}

void add(const Bug& bug, const Score& score, Totals& totals) {
  totals.bugs += 1;
  totals.found += score.found ? 1 : 0;
  totals.noise += score.noise;
  for (std::size_t i = 0; i < kSeeds.size(); ++i) {
    totals.seeds[i] += score.mutant_outcomes[i] > 1 ? 1 : 0;
  }
  if (bug.effect == Effect::kValue) return;
  totals.agents += score.agents && !is_of_host(bug) ? 1 : 0;
  totals.lines += score.lines;
  totals.marked += score.marked;
}

void print_totals(Effect effect, const Totals& totals) {
  std::cout << to_string(effect) << ": " << totals.found << " of " << totals.bugs << " found";
  if (effect != Effect::kValue) {
    std::cout << ", " << totals.agents << " with both agents, " << totals.lines << " of "
              << totals.marked << " lines";
  }
  std::cout << ", noise " << totals.noise << "; two outcomes in";
  for (std::size_t i = 0; i < kSeeds.size(); ++i) {
    std::cout << (i == 0 ? " " : ", ") << kSeeds[i] << " random schedules: " << totals.seeds[i];
  }
  std::cout << '\n';
}

void print_table() {
  std::cout << "| class | bug | effect | outcomes in 1, 2, 8, 64 random schedules | of the twin | "
               "verdict | of the twin | found | agents | lines | noise |\n"
               "|---|---|---|---|---|---|---|---|---|---|---|\n";
  std::map<Effect, Totals> totals;
  for (const Bug& bug : all_bugs()) {
    const Score score = score_of(bug, marks_of(bug));
    print_row(bug, score);
    add(bug, score, totals[bug.effect]);
  }
  std::cout << '\n';
  for (const auto& [effect, of_effect] : totals) print_totals(effect, of_effect);
  std::cout << "\n| class | bug | no program, because |\n|---|---|---|\n";
  for (const ExcludedBug& bug : excluded_bugs()) {
    std::cout << "| " << bug.number << " | " << bug.name << " | " << bug.reason << " |\n";
  }
}

int explain_bug(int number) {
  for (const Bug& bug : all_bugs()) {
    if (bug.number != number) continue;
    const Score score = score_of(bug, marks_of(bug));
    std::cout << bug.name << ", mutant: " << outcome_of(bug.mutant(), bug.devices, 0) << '\n'
              << explain(score.mutant) << "\ntwin: " << outcome_of(bug.twin(), bug.devices, 0)
              << '\n'
              << explain(score.twin) << '\n';
    return EXIT_SUCCESS;
  }
  std::cerr << "no bug " << number << '\n';
  return EXIT_FAILURE;
}

void print_verdict(const Bug& bug, const Program& program, const char* which) {
  const sim::Verdict verdict = sim::explore({.devices = bug.devices, .seed = 7}, program);
  std::cout << sim::verdict_json(std::to_string(bug.number) + ' ' + which, verdict) << '\n';
}

int run(const std::vector<std::string>& words) {
  if (words.size() == 1) {
    print_table();
  } else if (words.size() == 3 && words[1] == "explain") {
    return explain_bug(std::atoi(words[2].c_str()));
  } else if (words.size() == 2 && words[1] == "verdicts") {
    for (const Bug& bug : all_bugs()) {
      print_verdict(bug, bug.mutant(), "mutant");
      print_verdict(bug, bug.twin(), "twin");
    }
  } else if (words.size() == 2 && words[1] == "threads") {
    print_threads_table(words[0]);
  } else if (words.size() == 5 && words[1] == "run") {
    return run_alone(std::atoi(words[2].c_str()), words[3], words[4]);
  } else {
    std::cerr << "usage: bug_table [explain N | verdicts | threads | run N mutant|twin "
                 "threads|fibers]\n";
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace belfry::bugs

int main(int argc, char** argv) {
  return belfry::bugs::run(std::vector<std::string>(argv, argv + argc));
}
