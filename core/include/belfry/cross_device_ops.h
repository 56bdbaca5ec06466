// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/backend.h"
#include "belfry/detail/participants.h"
#include "belfry/nest.h"
#include "belfry/reduce_op.h"
#include "belfry/tensor.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace belfry {

/// Counters of all reductions so far.
struct ReductionStatistics {
  std::uint64_t reductions = 0;     ///< Calls.
  std::uint64_t host_leaves = 0;    ///< Leaves reduced in host memory.
  std::uint64_t tensor_leaves = 0;  ///< Leaves reduced by the communicator or by kernels.
  std::uint64_t bytes = 0;          ///< Of all inputs.

  bool operator==(const ReductionStatistics&) const = default;
};

/// Carries out reductions over replicas (SEM-30 to SEM-35). Host leaves are folded in host memory.
/// Tensors go through the backend's communicator if all replicas participate and the communicator
/// has the order and the element type. Otherwise tensors are copied to the first participating
/// replica's device, reduced by one n-way kernel, and copied back.
class CrossDeviceOps {
 public:
  /// `order`: the order of every reduction. Without a value, tensors are reduced in the
  /// communicator's declared order, host leaves in replica order.
  CrossDeviceOps(Backend& backend, std::vector<int> devices, std::optional<ReductionOrder> order);

  /// Replaces the leaves of every part by the reduction over all parts. `parts[i]` are the leaves
  /// of the i-th participating replica of `present`; all structures are equal. With `everywhere`
  /// false, host leaves are written in part 0 only. If some replicas do not participate, tensors
  /// never go through the communicator, since all devices are its members (SEM-91).
  /// Order: tensors are enqueued on communication streams, after the work that made them and before
  /// later work of their compute streams; the host does not block.
  /// Throws: InvalidArgumentError (kIntegerMean), (kDType) for bool, (kInvalidArgument) for a
  /// number that is no ReduceOp or for a default-constructed tensor; DeviceError.
  void all_reduce(ReduceOp op, std::span<const std::vector<LeafRef>> parts, bool everywhere,
                  const detail::Participants& present);

  /// All elements of all parts, part after part in replica order, as a vector on the device of each
  /// participating replica. `parts[i]` belongs to the i-th replica of `present`; counts may differ.
  /// Order: if all replicas participate, all counts are equal and the communicator has the element
  /// type, through the communicator, ordered as in all_reduce; else by copies on compute streams.
  /// Throws: DeviceError; InvalidArgumentError (kInvalidArgument) for a default-constructed tensor.
  std::vector<AnyTensor> all_gather(std::span<const AnyTensor> parts,
                                    const detail::Participants& present);
  /// Replaces the leaves of `parts.front()` by the reduction over all parts, in the order of
  /// `parts`, whatever the strategy's order. Any number of parts; all structures are equal. Tensors
  /// are on the first device and are reduced on its compute stream.
  /// Throws: as all_reduce.
  void fold(ReduceOp op, std::span<const std::vector<LeafRef>> parts);

  /// The order of additions for tensors.
  ReductionOrder tensor_order();
  /// Sets the order of later reductions.
  void set_order(std::optional<ReductionOrder> order) { order_ = order; }
  const std::optional<ReductionOrder>& order() const { return order_; }
  const ReductionStatistics& statistics() const { return statistics_; }

 private:
  void reduce_tensor_leaves(ReduceOp op, std::span<const std::vector<LeafRef>> parts,
                            std::span<const std::size_t> leaves,
                            const detail::Participants& present);
  void combine(ReduceOp op, std::span<const CollectivePart> collectives, std::size_t members);
  bool combine_natively(ReduceOp op, std::span<const CollectivePart> parts);
  void compose(ReduceOp op, ReductionOrder order, std::span<const CollectivePart> parts);
  bool gather_natively(std::span<const AnyTensor> parts, std::span<const AnyTensor> tables);
  Communicator& communicator();

  Backend& backend_;
  std::vector<int> devices_;
  std::optional<ReductionOrder> order_;
  std::unique_ptr<Communicator> communicator_;
  ReductionStatistics statistics_;
};

}  // namespace belfry
