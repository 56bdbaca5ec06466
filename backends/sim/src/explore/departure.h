// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/chooser.h"
#include "belfry/call_site.h"

#include <cstdint>
#include <string>

namespace belfry::sim {

/// An agent at a choice.
struct AgentAtChoice {
  AgentId agent{};
  bool begun = false;  ///< Of a replica: has made a step in its run.
  CallSite site{};     ///< The user's last call of the agent; empty if not known.
};

/// A choice that differs from the choice of the serial schedule.
struct Departure {
  ChoiceKind kind = ChoiceKind::kAgent;
  std::uint32_t count = 1;
  std::uint32_t value = 0;      ///< Not 0, the answer of the serial schedule.
  std::uint32_t run = 0;        ///< The innermost run, from 1; 0: none.
  bool names_agents = false;    ///< Of kAgent: whether the two agents are known.
  AgentAtChoice chosen{};       ///< The agent that goes.
  AgentAtChoice passed_over{};  ///< The agent that the serial schedule would take.
};

/// `replica 1 starts before replica 0`, `S4 works before replica 0 goes on from train.cpp:5`.
/// Choices of the second run and of later runs begin with `in run 2, `.
std::string to_string(const Departure& departure);

}  // namespace belfry::sim
