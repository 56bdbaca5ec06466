// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/prints.h"
#include "belfry/sim/race.h"

#include <cstdint>
#include <string>
#include <vector>

namespace belfry::sim {

/// The knowledge about the schedules of a program, from the least to the most (SEM-191).
enum class VerdictLevel : std::uint8_t {
  kNone,       ///< The program does not repeat: a schedule alone does not decide the run.
  kSampled,    ///< The schedules that ran have one outcome; a condition is not met.
  kRefuted,    ///< Two schedules have two outcomes.
  kRacy,       ///< Two accesses have no order. The schedules that ran have one outcome.
  kCertified,  ///< Every schedule has the outcome.
};

/// `CERTIFIED`, `RACY`, `REFUTED`, `SAMPLED`, `NONE`.
const char* to_string(VerdictLevel level);

/// A condition of a certificate (SEM-193).
struct Condition {
  std::string name;      ///< The condition, as a statement: `device bytes have an order`.
  bool holds = false;    ///< Whether the run met the condition.
  std::string evidence;  ///< The facts for or against.

  bool operator==(const Condition&) const = default;
};

/// `holds: device bytes have an order (84 pieces of work)`.
std::string to_string(const Condition& condition);

/// The outcome of a schedule.
struct ScheduleOutcome {
  std::string token;    ///< For Schedule::replay; empty if the run had too many choices.
  std::string outcome;  ///< The returned value or the exception, as text.
  /// Of kRefuted: the choices that differ from the serial schedule, in order and in words, for
  /// example `replica 1 starts before replica 0`. Empty for the serial schedule.
  std::vector<std::string> departures{};
  bool threw = false;  ///< Whether the outcome is an exception.

  bool operator==(const ScheduleOutcome&) const = default;
};

/// `outcome, replay token`.
std::string to_string(const ScheduleOutcome& outcome);

/// The contents of a Verdict, as data.
struct VerdictReport {
  VerdictLevel level = VerdictLevel::kNone;  ///< The level.
  int schedules = 0;                         ///< The number of schedules that ran.
  /// The judged schedule. Of kRefuted, a schedule with the outcome of the judged schedule, and a
  /// schedule with the second outcome: the serial schedule, and a schedule with as few departures
  /// from the serial schedule as the search finds (SEM-195).
  std::vector<ScheduleOutcome> outcomes{};
  /// Of kNone and kRefuted, the first difference between two runs.
  std::string difference{};
  std::vector<Race> races{};            ///< In the order of the second access.
  std::vector<Condition> conditions{};  ///< In the order of SEM-193; empty for kNone.
  std::vector<std::string> notes{};     ///< Remarks that change no level.
  /// Of kCertified: accesses of watched code that the watch of the program's compiler misses.
  std::vector<std::string> missed{};
};

/// The level and the number of schedules.
std::string to_string(const VerdictReport& report);

/// The answer of `explore`: a value, and no part of a backend.
class Verdict {
 public:
  /// A verdict with this report.
  explicit Verdict(VerdictReport report);

  /// The level.
  VerdictLevel level() const { return report_.level; }
  /// The replay tokens of the outcomes, in the order of the report: of kRefuted two.
  const std::vector<std::string>& tokens() const { return tokens_; }
  /// The verdict as data.
  const VerdictReport& report() const { return report_; }

 private:
  VerdictReport report_;
  std::vector<std::string> tokens_;
};

/// `CERTIFIED`, `SAMPLED(9)`: the level, of kSampled with the number of schedules.
std::string to_string(const Verdict& verdict);

/// The level, the outcomes with their tokens, each race, each condition with its evidence, and the
/// limits of the verdict.
std::string explain(const Verdict& verdict);

using belfry::operator<<;

}  // namespace belfry::sim
