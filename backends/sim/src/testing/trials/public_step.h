// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/reductions/reduce_op.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace belfry::sim::testing {

/// A step of a replica. `a` chooses a captured cell or a shared tensor, or the numbers (0) or the
/// tensor (1) of the replica in an exchange; `b` is a number.
struct PublicStep {
  enum class Kind : std::uint8_t {
    // Of each replica alone.
    kOwnSlot,       ///< Changes a number of the replica's own.
    kReadCell,      ///< Reads a captured cell.
    kWriteCell,     ///< Changes a captured cell.
    kMultiply,      ///< Makes a new tensor of the replica's own.
    kAddShared,     ///< Adds a shared tensor, copied to the replica's device.
    kScaleOwn,      ///< Changes the tensor of the replica's own.
    kTakeHandle,    ///< The replica's own tensor becomes a handle or a copy of a shared tensor.
    kScaleShared,   ///< Changes a shared tensor in place.
    kAssignShared,  ///< A shared handle becomes the replica's own tensor.
    kReadOwn,       ///< Reads the own tensor on the host.
    kCopyAcross,    ///< Changes a copy of the own tensor on the next replica's device.
    kRawWrite,      ///< Writes a buffer in a stream of all replicas.
    kLaunchOwn,     ///< A kernel of the program's changes the own tensor.
    kLaunchMix,     ///< A kernel of the program's reads a shared tensor and writes a new one.
    kLaunchCell,    ///< A kernel of the program's also changes a captured cell.
    kReadTotal,     ///< Reads a mirrored variable.
    kAddLocal,      ///< Changes the own component of a replica-local variable.
    kThrow,         ///< Throws.
    // Of all replicas together.
    kAllReduce,     ///< The own tensor becomes the sum, or an extreme, of all.
    kMergeCell,     ///< A merge function changes a captured cell.
    kMergeOwn,      ///< A merge function sees a number of each replica.
    kMergeTensors,  ///< A merge function reduces the own tensors, and reads the mean on the host.
    kUpdate,        ///< A merge function updates the mirrored variable.
    kNestedRun,     ///< A merge function begins a run.
    kNestedReduce,  ///< A merge function begins a run whose replicas reduce.
    kAssignAdd,     ///< The replicas assign to the mirrored variable.
    kMakeVariable,  ///< The replicas make a mirrored variable.
    kMakeLocal,     ///< The replicas make a replica-local variable, and each changes its component.
    kThrowInMerge,  ///< A merge function throws.
    // Exchanges of all replicas or of a group. The result goes to the own numbers or tensor.
    kAllGather,      ///< Joins parts of other lengths.
    kReduceScatter,  ///< Changes the own part of a reduction, and joins the parts.
    kAllToAll,
    kBroadcast,
    kPermute,
    kScatterFrom,
    kGatherTo,
    kSharded,  ///< Changes the own rows of a sharded variable, and joins the rows of all.
    kKinds,
  };

  Kind kind{};
  std::size_t a = 0;
  std::size_t b = 0;
  // Of exchanges, and of kAllReduce:
  std::size_t root = 0;  ///< A position among the replicas that meet, or a shift.
  std::size_t axis = 0;  ///< All replicas (0), or those along an axis of a mesh (1, 2).
  bool swaps = false;    ///< Whether parts, or the replicas of pairs, are in the other order.
};

/// An access of a step to host memory that all replicas capture.
struct HostTouch {
  std::size_t object = 0;  ///< A cell, or a shared handle after the cells.
  bool writes = false;     ///< Whether the step writes in every schedule.
  bool may_write = false;  ///< Whether the step writes in some schedule.
  bool in_kernel = false;  ///< Whether the body of a kernel makes the access.
};

constexpr std::size_t kCells = 2;
constexpr std::size_t kShared = 2;

/// Whether all replicas take the step together.
bool is_together(PublicStep::Kind kind);
/// Whether the step is an exchange, or a reduction of a group.
bool is_exchange(const PublicStep& step);
/// Whether an exchange or a reduction is of the own tensors, not of the own numbers.
bool is_of_tensors(const PublicStep& step);
/// The operator of a reduction.
ReduceOp operator_of(const PublicStep& step);
/// Whether programs of such steps alone have no race.
bool is_private(PublicStep::Kind kind);
/// Whether programs with the step are interesting in small numbers only.
bool is_rare(PublicStep::Kind kind);
/// The captured host memory of a step; steps use at most one object.
std::optional<HostTouch> touch_of(const PublicStep& step);

/// `all-to-all`: the kind in words.
std::string to_string(PublicStep::Kind kind);
/// `write cell 1 (2)`: the step and its numbers.
std::string to_string(const PublicStep& step);

}  // namespace belfry::sim::testing
