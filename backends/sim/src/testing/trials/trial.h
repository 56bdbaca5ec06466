// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/verdict.h"
#include "testing/trials/program_outcome.h"
#include "testing/trials/trial_program.h"
#include "testing/trials/wrong_program.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace belfry::sim::testing {

/// The schedules of a trial.
struct TrialPlan {
  TrialSize size = TrialSize::kSmall;
  int in_order = 24;  ///< The first schedules in order; the last choice changes first.
  int random = 40;    ///< Random schedules, unless all schedules are among the first.
  /// Whether all schedules are traced and observed, if there are at most `in_order`.
  bool traces = false;
  /// Options::audit_watch of the observed schedules, unless replicas make variables.
  bool audits = false;
  /// Whether a program with a mistake in an exchange is explored, in place of a second observed
  /// schedule and of judged runs.
  bool mistakes = false;
};

/// A program with a mistake in an exchange: its verdict, and the outcome of a schedule.
struct WrongTrial {
  WrongProgram program;
  Verdict verdict;
  ProgramOutcome outcome;
};

/// The results of a program's trial: the verdicts, and the outcomes of the schedules.
struct Trial {
  TrialProgram program;
  std::vector<Verdict> verdicts{};  ///< Of one or two observed schedules.
  bool observed_differ = false;  ///< Whether the two have two outcomes; known if the levels differ.
  std::map<ProgramOutcome, std::string> outcomes{};  ///< The token of a schedule with each.
  std::uint64_t schedules = 0;  ///< Schedules that ran apart from the verdicts'.
  bool all = false;             ///< Whether the schedules are all that there are.
  std::uint64_t judged = 0;     ///< Schedules whose run was judged by the conditions alone.
  std::uint64_t certified = 0;  ///< Of these, the runs that meet all conditions.
  std::vector<std::string> ordered_races{};  ///< Races that every schedule orders.
  std::string reversed_pair{};               ///< Accesses that two schedules order differently.
  std::optional<ProgramOutcome> expected{};  ///< By a second implementation; for private programs.
  std::optional<WrongTrial> wrong{};

  bool is_certified() const { return verdicts.front().level() == VerdictLevel::kCertified; }
  bool has_groups() const { return program.replicas && program.replicas->has_groups(); }
  bool diverges() const { return outcomes.size() > 1; }
};

/// Draws the program of `seed`, explores the program from two observed schedules, and tries
/// schedules. Of the programs that the first exploration refutes, a quarter has two explorations:
/// the search for a short schedule takes most of the time.
Trial try_program(std::uint64_t seed, const TrialPlan& plan);

/// The statement about verdicts that `trial` disproves, in a sentence; empty if all hold.
std::string fault_of(const Trial& trial);

/// The program, the first verdict with its explanation, and the outcomes with their tokens.
std::string to_string(const Trial& trial);

}  // namespace belfry::sim::testing
