// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/backend.h"

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace belfry::bugs {

/// The host values that a program returns.
using Outcome = std::vector<double>;
/// A program without unspecified order of evaluation, and with the same calls in each run.
using Program = std::function<Outcome(sim::Backend&)>;

/// The effect of a bug on a program.
enum class Effect : std::uint8_t {
  kDiverges,  ///< Schedules differ in their outcomes.
  kRace,      ///< Two accesses without an order, and the same outcome in every schedule.
  kError,     ///< Every schedule ends with the same error of belfry.
  kValue,     ///< Every schedule has the same wrong value, which a single replica has not.
};

/// `diverges`, `race`, `error`, `value`.
std::string to_string(Effect effect);

/// A class of bugs, as a pair of programs that differ in the bug alone.
struct Bug {
  int number = 0;                                                ///< The number of the class.
  std::string name;                                              ///< The mistake, in some words.
  Effect effect = Effect::kDiverges;                             ///< The effect on the mutant.
  Outcome (*program)(sim::Backend&, bool is_correct) = nullptr;  ///< Without the bug, or with it.
  /// The agents of the two accesses, in any order; of an error, the replicas at fault.
  std::array<std::string, 2> agents{"R0", "R1"};
  int devices = 2;     ///< The number of devices, and of replicas.
  std::string file{};  ///< The source file, with marks on the lines of the bug; see marks.h.

  /// The program with the bug.
  Program mutant() const {
    return [run = program](sim::Backend& backend) { return run(backend, false); };
  }
  /// The program without the bug.
  Program twin() const {
    return [run = program](sim::Backend& backend) { return run(backend, true); };
  }
};

/// A class of bugs that no program over the public functions can have.
struct ExcludedBug {
  int number = 0;      ///< The number of the class.
  std::string name;    ///< The mistake, in some words.
  std::string reason;  ///< The rule of belfry that excludes the class.
};

/// Variables that replicas capture and share.
std::vector<Bug> captured_bugs();
/// Decisions of a replica on its own.
std::vector<Bug> decision_bugs();
/// Streams and events.
std::vector<Bug> stream_bugs();
/// Memory that two streams, replicas or the host share.
std::vector<Bug> memory_bugs();
/// Merges and collectives whose parts do not belong together.
std::vector<Bug> matching_bugs();
/// Reductions and variables with a wrong meaning.
std::vector<Bug> value_bugs();
/// All of the above, by number.
std::vector<Bug> all_bugs();
/// The classes without a program, by number.
std::vector<ExcludedBug> excluded_bugs();

}  // namespace belfry::bugs
