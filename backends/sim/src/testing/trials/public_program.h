// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/backend.h"
#include "testing/trials/program_outcome.h"
#include "testing/trials/public_step.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace belfry::sim::testing {

class OrderTrace;

/// A program of the public face: replicas with captured cells, shared tensors, variables, merges.
struct PublicProgram {
  int replicas = 2;
  bool central = false;  ///< Variables are on a single device.
  /// The replica without an argument, which takes no part; -1: none.
  int masked = -1;
  /// Whether only steps without a race were drawn.
  bool is_private = false;
  std::vector<std::vector<PublicStep>> steps{};  ///< Of each replica.

  /// Draws a program of this many positions, for 2 to `most_replicas` replicas.
  static PublicProgram draw(std::uint64_t seed, std::size_t positions, int most_replicas);
  /// Draws a private program whose merges are exchanges, most of them.
  static PublicProgram draw_exchanges(std::uint64_t seed);

  /// The replicas of the step that meet `replica`, ascending. Four replicas are a mesh of 2 x 2,
  /// N others of N x 1; axis 1 is the first.
  std::vector<int> meeting(int replica, const PublicStep& step) const;
  bool has(PublicStep::Kind kind) const;  ///< Whether a step is of this kind.
  bool has_groups() const;                ///< Whether a step is of a group.
};

/// The strategy, and the steps of each replica, a line each.
std::string to_string(const PublicProgram& program);

/// Runs the program; the values of cells, slots, tensors and variables at the end. `trace`, if not
/// null, hears of each step of a replica.
ProgramOutcome run(const PublicProgram& program, Backend& backend, OrderTrace* trace = nullptr);

}  // namespace belfry::sim::testing
