// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "testing/trials/trial.h"

#include <cstdint>
#include <map>
#include <string>

namespace belfry::sim::testing {

/// Counts of private programs with an exchange.
struct VerbCount {
  std::uint64_t right = 0;
  std::uint64_t certified = 0;  ///< Of the right ones.
  std::uint64_t wrong = 0;      ///< Programs with a mistake in the exchange.
  std::uint64_t passed = 0;     ///< Of the wrong ones, those certified with the right outcome.
};

/// By verb: `broadcast`, `broadcast of a group`.
using VerbCounts = std::map<std::string, VerbCount>;
/// Counts a trial for each of its verbs; of programs with groups, those of groups alone.
void add(VerbCounts& counts, const Trial& trial);
/// A line for each verb.
std::string to_string(const VerbCounts& counts);

/// Counts of trials. The text is also the state from which a soak goes on.
struct TrialCounts {
  std::uint64_t next_seed = 1;  ///< The seed of the next program.
  std::uint64_t programs = 0;
  std::uint64_t certified = 0;
  std::uint64_t refuted = 0;
  std::uint64_t racy = 0;
  std::uint64_t sampled = 0;
  std::uint64_t diverging = 0;  ///< Programs with two outcomes.
  std::uint64_t missed = 0;     ///< Diverging programs that are not REFUTED.
  std::uint64_t unequal = 0;    ///< Programs with two levels, by the observed schedule.
  std::uint64_t race_free = 0;  ///< Programs without a race and without groups, by construction.
  std::uint64_t race_free_certified = 0;  ///< Of these, certified ones.
  std::uint64_t enumerated = 0;           ///< Programs all of whose schedules ran.
  std::uint64_t enumerated_certified = 0;
  std::uint64_t schedules = 0;  ///< Schedules that ran apart from the explorations'.

  void add(const Trial& trial);

  bool operator==(const TrialCounts&) const = default;
};

/// A line for each count: `certified 61`.
std::string to_string(const TrialCounts& counts);
/// The counts of a text. Throws: std::runtime_error for lines of any other form.
TrialCounts counts_from(const std::string& text);
/// The share that is too small for a proof by random programs, in a sentence; empty if none is:
/// 30 % certified, 10 % diverging, and 95 % certified of those without a race by construction.
std::string shortfall_of(const TrialCounts& counts);
/// The counts for people, with shares.
std::string summary_of(const TrialCounts& counts);

}  // namespace belfry::sim::testing
