// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/buffer.h"
#include "belfry/backend/stream.h"
#include "belfry/reduce_op.h"

#include <span>
#include <vector>

namespace belfry {

/// The part of a local member in a collective.
struct CollectivePart {
  BufferView input;          ///< The elements to combine or to send.
  BufferView output;         ///< May be the same view as `input` (in place).
  Stream* stream = nullptr;  ///< A stream of the member's device, for the enqueued work.
};

/// The native collectives of a backend among a fixed, ordered list of devices. A *rank* is a
/// position in the list; a *local index* counts the ranks of this process. Each collective is a
/// single call with the parts of all local members, for grouped launches.
/// Order: enqueued on each part's stream; the host does not block.
/// Throws:
/// - StructureMismatchError (kStructure) if parts differ in count or type;
/// - InvalidArgumentError (kInvalidArgument, kOutOfBounds, kDType, kIntegerMean, kForeignObject),
///   see `validate` of belfry/backend/collective.h;
/// - UnsupportedError (kUnsupported) for a reduction of an element type that is not supported;
/// - DeviceError.
/// After an error nothing is enqueued.
class Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  virtual int size() const = 0;  ///< The number of ranks.
  /// The rank of each local member, ascending.
  virtual std::span<const int> local_ranks() const = 0;
  /// The order of additions in reductions.
  virtual ReductionOrder order() const = 0;
  /// Whether all_reduce takes elements of this type, which is not bool. The answer never changes.
  /// Broadcasts and gathers take every type.
  virtual bool supports(DType) const { return true; }
  /// Every output = the reduction over all ranks. `parts` may hold several collectives of the same
  /// element type, in sequence, each with the parts of all members (see `collectives_of`). For many
  /// small tensors most of the time is launches; a backend may launch all at once.
  virtual void all_reduce(ReduceOp op, std::span<const CollectivePart> parts) = 0;
  /// Every output = the input of rank `root`; all other inputs are ignored.
  virtual void broadcast(int root, std::span<const CollectivePart> parts) = 0;
  /// Every output = the inputs of all ranks, in rank order; an output has size() times the elements
  /// of an input.
  virtual void all_gather(std::span<const CollectivePart> parts) = 0;
  /// Throws DeviceError if the devices have reported an error since the last call.
  virtual void check_health() = 0;
};

}  // namespace belfry
