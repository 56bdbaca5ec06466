// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/buffer.h"
#include "belfry/detail/reductions/reduce_op.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace belfry {

class Stream;

/// The part of a local member in a collective.
struct CollectivePart {
  BufferView input;          ///< The elements to combine or to send.
  BufferView output;         ///< May be the same view as `input` (in place).
  Stream* stream = nullptr;  ///< A stream of the member's device, for the enqueued work.
};

/// A send of a rank and the receive of another, or of the same rank. The view of a rank of another
/// process is ignored.
struct Transfer {
  int from = 0;       ///< The rank that sends.
  int to = 0;         ///< The rank that receives.
  BufferView input;   ///< Memory of the sender.
  BufferView output;  ///< Memory of the receiver, with as many elements of the same type.
};

/// The collectives of a Communicator.
enum class CollectiveKind : std::uint8_t {
  /// Every output = the reduction over all ranks. `parts` may hold several all-reduces of the same
  /// element type, in sequence, each with the parts of all members (see `collectives_of`). For many
  /// small tensors most of the time is launches; a backend may launch all at once.
  kAllReduce,
  kBroadcast,  ///< Every output = the input of rank `root`; all other inputs are ignored.
  kAllGather,  ///< Every output = the inputs of all ranks, in rank order.
  /// An input has a slice for each rank, in rank order. The output of a rank = the reduction over
  /// the slices for the rank. In place, the output is the rank's slice of the rank's own input.
  kReduceScatter,
  /// The outputs of `transfers` = their inputs, as if all were copied at once. Parts have a stream
  /// alone. In place, a transfer of a rank to itself has equal views.
  kExchange,
};

/// `all_reduce`, `broadcast`, ...
std::string_view to_string(CollectiveKind kind);

/// A call of a communicator: `parts[i]` belongs to the rank `first + i`.
struct Collective {
  CollectiveKind kind = CollectiveKind::kAllReduce;  ///< What the call does.
  std::span<const CollectivePart> parts{};           ///< A part for each member of this process.
  int root = 0;                                      ///< For kBroadcast: a rank.
  ReduceOp op = ReduceOp::kSum;                      ///< For kAllReduce and kReduceScatter.
  /// For kAllGather the elements of each input, for kReduceScatter of each output, by rank; empty:
  /// all are equal.
  std::span<const std::size_t> counts{};
  /// For kExchange. All processes list the transfers of a pair of ranks in the same order.
  std::span<const Transfer> transfers{};
  int ranks = 0;  ///< The number of ranks in all processes; set by the communicator.
  int first = 0;  ///< The rank of the first member of this process; set by the communicator.

  /// Whether the collective reads `input` of the part of a member.
  bool reads_input_of(int member) const {
    if (kind == CollectiveKind::kExchange) return false;
    return kind != CollectiveKind::kBroadcast || first + member == root;
  }
  /// Whether the collective has work for a member: false without a transfer.
  bool involves(int member) const;
  /// For kAllGather and kReduceScatter: the elements of `rank` in `whole`, which has the elements
  /// of all ranks.
  BufferView slice(const BufferView& whole, int rank) const;
  /// The bytes that this process sends or combines: of the inputs that are read.
  std::uint64_t bytes() const;
};

/// Checks the errors that every backend refuses: the number of parts and of counts, the root, ranks
/// of transfers, missing streams and buffers, counts, element types, bounds, overlaps, and types
/// without a reduction. Inputs that the collective does not read are not checked. Each backend
/// checks the owner of streams and buffers.
/// `members` is the number of members in this process. Parts of other processes are not seen; if
/// `ranks` is 0, all members are in this process.
/// Throws: StructureMismatchError (kStructure); InvalidArgumentError (kInvalidArgument,
/// kOutOfBounds, kDType, kIntegerMean).
void validate(const Collective& collective, int members);

/// The parts of each all-reduce in a call; a call has any number of all-reduces, in sequence.
/// Throws: StructureMismatchError (kStructure) unless each has all members and all have one element
/// type; InvalidArgumentError (kInvalidArgument) unless a member has one stream in all of them.
std::vector<std::span<const CollectivePart>> collectives_of(std::span<const CollectivePart> parts,
                                                            int members);

}  // namespace belfry
