// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/backend.h"
#include "testing/trials/order_trace.h"
#include "testing/trials/program_outcome.h"
#include "testing/trials/public_program.h"
#include "testing/trials/public_step.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace belfry::sim::testing {

/// The size of a drawn program.
enum class TrialSize : std::uint8_t {
  kSmall,      ///< Up to 6 steps of each of up to 4 replicas.
  kTiny,       ///< Up to 2 steps of up to 3 replicas: many have few enough schedules to try each.
  kExchanges,  ///< PublicProgram::draw_exchanges.
};

/// A program for a trial, drawn from a seed.
struct TrialProgram {
  std::uint64_t seed = 0;
  std::string text{};                       ///< The steps of each replica.
  int devices = 2;                          ///< The number of devices.
  bool is_private = false;                  ///< Whether the program has no race by construction.
  std::optional<PublicProgram> replicas{};  ///< Of the public face; of raw streams none.
  /// Runs the program in watched code. The trace may be null.
  std::function<ProgramOutcome(Backend&, OrderTrace*)> run{};

  /// The steps of each replica, for a judge of captured memory; of raw streams empty.
  std::vector<std::vector<PublicStep>> steps() const {
    return replicas ? replicas->steps : std::vector<std::vector<PublicStep>>();
  }
};

/// The program of `seed`: one of three has raw streams and events, two have the public face; of
/// kExchanges all have.
TrialProgram draw_program(std::uint64_t seed, TrialSize size);

}  // namespace belfry::sim::testing
