// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/chooser.h"
#include "belfry/call_site.h"
#include "belfry/detail/prints.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace belfry::sim {

/// A decision of a run: `value` out of [0, count).
struct Choice {
  ChoiceKind kind = ChoiceKind::kAgent;  ///< What was chosen.
  std::uint32_t count = 1;               ///< The number of possible answers.
  std::uint32_t value = 0;               ///< The answer, from 0.

  bool operator==(const Choice&) const = default;
};

/// `agent 2 of 5`, `work 0 of 4`.
std::string to_string(const Choice& choice);

/// How a simulated run chooses the agent of the next step.
enum class ScheduleKind : std::uint8_t {
  kFixed,     ///< The lowest replica that can continue; streams when the host waits (SEM-72).
  kRandom,    ///< Any agent that can continue, drawn from the seed of the options.
  kReplayed,  ///< The choices of an earlier run.
};

/// `fixed`, `random`, `replayed`.
std::string to_string(ScheduleKind kind);

/// A schedule as a value: the same schedule, seed and program give the same run.
struct Schedule {
  ScheduleKind kind = ScheduleKind::kRandom;  ///< How agents are chosen.
  std::vector<Choice> choices{};              ///< For kReplayed.

  static Schedule fixed();   ///< A schedule of kFixed.
  static Schedule random();  ///< A schedule of kRandom.
  /// The choices of a token printed by `Backend::replay_token`.
  /// Throws: InvalidArgumentError (kReplay) if `token` is malformed.
  static Schedule replay(std::string_view token, CallSite site = CallSite::here());

  bool operator==(const Schedule&) const = default;
};

/// The kind, and the token of a replayed schedule.
std::string to_string(const Schedule& schedule);

using belfry::operator<<;

}  // namespace belfry::sim
