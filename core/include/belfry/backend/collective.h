// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/backend.h"
#include "belfry/detail/reductions/reduce_op.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace belfry {

/// The calls of a Communicator.
enum class CollectiveKind : std::uint8_t { kAllReduce, kBroadcast, kAllGather };

/// `all_reduce`, `broadcast`, ...
std::string_view to_string(CollectiveKind kind);

/// A call of a communicator: `parts[i]` belongs to the rank `first + i`.
struct Collective {
  CollectiveKind kind = CollectiveKind::kAllReduce;  ///< The call.
  std::span<const CollectivePart> parts;             ///< A part for each member of this process.
  int root = 0;                                      ///< For kBroadcast: a rank.
  ReduceOp op = ReduceOp::kSum;                      ///< For kAllReduce.
  int ranks = 0;  ///< The number of ranks in all processes; 0: all members are in this process.
  int first = 0;  ///< The rank of the first member of this process.

  /// Whether the collective reads the input of a member of this process.
  bool reads_input_of(int member) const {
    return kind != CollectiveKind::kBroadcast || first + member == root;
  }
};

/// Checks the errors that every backend refuses: the number of parts, the root, missing streams and
/// buffers, counts, element types, bounds, overlaps, and types without a reduction. Inputs that the
/// collective does not read are not checked. Each backend checks the owner of streams
/// and buffers.
/// `members` is the number of members in this process. Parts of other processes are not seen.
/// Throws: StructureMismatchError (kStructure); InvalidArgumentError (kInvalidArgument,
/// kOutOfBounds, kDType, kIntegerMean).
void validate(const Collective& collective, int members);

/// The parts of each all-reduce in a call; a call has any number of all-reduces, in sequence.
/// Throws: StructureMismatchError (kStructure) unless each has all members and all have one element
/// type; InvalidArgumentError (kInvalidArgument) unless a member has one stream in all of them.
std::vector<std::span<const CollectivePart>> collectives_of(std::span<const CollectivePart> parts,
                                                            int members);

}  // namespace belfry
