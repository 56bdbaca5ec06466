// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/verdict.h"
#include "bug.h"
#include "marks.h"

#include <array>
#include <cstddef>
#include <string>

namespace belfry::bugs {

/// The numbers of random schedules of a score.
inline constexpr std::array<int, 4> kSeeds{1, 2, 8, 64};

/// The numbers of different outcomes in the first kSeeds random schedules.
using Distinct = std::array<std::size_t, kSeeds.size()>;

/// The values of a program, or the text of its exception, in the random schedule of `seed`.
std::string outcome_of(const Program& program, int devices, std::uint64_t seed);
/// The numbers of different outcomes of `program`.
Distinct distinct_outcomes(const Program& program, int devices);

/// The reports of random schedules, an exploration and a run with a single replica about a bug.
struct Score {
  Distinct mutant_outcomes{};        ///< Of the mutant.
  std::size_t twin_outcomes = 0;     ///< Of the twin, in the most random schedules.
  sim::Verdict mutant;               ///< The exploration of the mutant.
  sim::Verdict twin;                 ///< The exploration of the twin.
  bool depends_on_replicas = false;  ///< Whether the mutant with a single replica has other values.
  bool twin_depends = false;         ///< The same of the twin.
  bool found = false;                ///< Whether the report fits the effect of the bug.
  bool agents = false;               ///< Whether the report names both agents.
  int lines = 0;                     ///< The marked lines in the report.
  int marked = 0;                    ///< The marked lines.
  int noise = 0;                     ///< Reports of the mutant on other lines, and all of the twin.
};

/// The score of `bug`, with `marks` of its file.
Score score_of(const Bug& bug, const Marks& marks);

}  // namespace belfry::bugs
