// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/communicator.h"
#include "belfry/reduce_op.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace belfry {

/// The calls of a Communicator.
enum class CollectiveKind : std::uint8_t { kAllReduce, kReduce, kBroadcast, kAllGather };

/// `all_reduce`, `broadcast`, ...
std::string_view to_string(CollectiveKind kind);

/// One call of a communicator whose members are all in this process: `parts[i]` is of rank i.
struct Collective {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  std::span<const CollectivePart> parts;
  int root = 0;                  ///< Of kReduce and kBroadcast.
  ReduceOp op = ReduceOp::kSum;  ///< Of kAllReduce and kReduce.

  bool reads_input_of(int rank) const { return kind != CollectiveKind::kBroadcast || rank == root; }
  bool writes_output_of(int rank) const { return kind != CollectiveKind::kReduce || rank == root; }
};

/// Checks what every backend refuses: the number of parts, the root, missing streams and buffers,
/// counts, element types, bounds, overlaps, and what cannot be reduced. Views that the collective
/// neither reads nor writes are not looked at. Whose streams and buffers they are is left to the
/// backend.
/// Throws: StructureMismatchError (kStructure); InvalidArgumentError (kInvalidArgument,
/// kOutOfBounds, kDType, kIntegerMean).
void validate(const Collective& collective, int members);

/// The parts of each all-reduce of one call, which has any number of them, one after another.
/// Throws: StructureMismatchError (kStructure) unless they are whole and of one element type.
std::vector<std::span<const CollectivePart>> collectives_of(std::span<const CollectivePart> parts,
                                                            int members);

}  // namespace belfry
