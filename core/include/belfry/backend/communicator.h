// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/buffer.h"
#include "belfry/backend/stream.h"
#include "belfry/reduce_op.h"

#include <span>
#include <vector>

namespace belfry {

/// One local member's part in a collective.
struct CollectivePart {
  BufferView input;
  BufferView output;         ///< May be the very view of `input` (in place).
  Stream* stream = nullptr;  ///< Of the member's device; the collective is enqueued there.
};

/// The collectives a backend offers natively among a fixed, ordered list of devices. A *rank* is a
/// position in that list; a *local index* counts the ranks of this process. Each collective is one
/// call that carries the parts of all local members, so that one launcher can group them.
/// Order: enqueued on each part's stream; the host does not block.
/// Throws: StructureMismatchError (kStructure) when parts differ in count or type;
/// InvalidArgumentError (kInvalidArgument, kOutOfBounds, kDType, kIntegerMean, kForeignObject), see
/// `validate` of belfry/backend/collective.h; UnsupportedError (kUnsupported) for element types
/// that the hardware's library lacks; DeviceError. Nothing is enqueued then.
class Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  virtual int size() const = 0;
  /// The rank of each local member, ascending.
  virtual std::span<const int> local_ranks() const = 0;
  /// The order in which reductions add up.
  virtual ReductionOrder order() const = 0;
  /// Every output = the reduction over all ranks. `parts` may be several collectives of one element
  /// type, one after another, each with the parts of all members (see `collectives_of`): what many
  /// small tensors cost is starting them, which a backend may do at once.
  virtual void all_reduce(ReduceOp op, std::span<const CollectivePart> parts) = 0;
  /// The output of rank `root` = the reduction; other outputs are not touched.
  virtual void reduce(ReduceOp op, int root, std::span<const CollectivePart> parts) = 0;
  /// Every output = the input of rank `root`; other inputs are not read.
  virtual void broadcast(int root, std::span<const CollectivePart> parts) = 0;
  /// Every output = the inputs of all ranks, in rank order; outputs are size() times as long.
  virtual void all_gather(std::span<const CollectivePart> parts) = 0;
  /// Throws what the devices have reported since the last call, if anything (DeviceError).
  virtual void check_health() = 0;
};

}  // namespace belfry
