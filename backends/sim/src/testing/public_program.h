// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/backend.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace belfry::sim::testing {

/// A step of a replica. `a` and `b` choose a cell, a tensor or a number.
struct PublicStep {
  enum class Kind : std::uint8_t {
    // Of each replica for itself.
    kOwnSlot,       ///< A number of the replica's own.
    kReadCell,      ///< Reads a captured cell.
    kWriteCell,     ///< Changes a captured cell.
    kMultiply,      ///< A new tensor of the replica's own.
    kAddShared,     ///< Adds a shared tensor, copied to the replica's device.
    kScaleOwn,      ///< Changes the tensor of the replica's own.
    kTakeHandle,    ///< The replica's own tensor becomes a handle of a shared tensor.
    kScaleShared,   ///< Changes a shared tensor in place.
    kAssignShared,  ///< A shared handle becomes the replica's own tensor.
    kReadOwn,       ///< Reads the own tensor on the host.
    kRawWrite,      ///< Writes a raw buffer in a stream of all replicas.
    kLaunchOwn,     ///< A kernel of the program's changes the tensor of the replica's own.
    kLaunchCell,    ///< A kernel changes a captured cell, too.
    kThrow,         ///< Throws.
    // Of all replicas together.
    kAllReduce,
    kMergeCell,     ///< A merge function changes a captured cell.
    kMergeOwn,      ///< The merge function sees a value of each replica.
    kNestedRun,     ///< A run in a merge.
    kAssignAdd,     ///< A mirrored variable.
    kMakeVariable,  ///< A variable made in the replicas.
    kKinds,
  };

  Kind kind{};
  std::size_t a = 0;
  std::size_t b = 0;
};

/// A program of the public face: replicas with captured cells, shared tensors, variables, merges.
struct PublicProgram {
  int replicas = 2;
  bool central = false;                        ///< Variables are on a single device.
  std::vector<std::vector<PublicStep>> steps;  ///< Of each replica.
  /// Whether only steps without a race were drawn.
  bool is_private = false;

  /// Draws a program of this many positions.
  static PublicProgram draw(std::uint64_t seed, std::size_t positions);
};

/// The steps of each replica, a line each.
std::string to_string(const PublicProgram& program);

/// Runs the program; the values of cells, slots, tensors and variables at the end.
std::vector<double> run(const PublicProgram& program, Backend& backend);

}  // namespace belfry::sim::testing
