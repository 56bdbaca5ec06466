// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/any_tensor.h"
#include "belfry/backend/backend.h"
#include "belfry/detail/participants.h"
#include "belfry/nest.h"
#include "belfry/reduce_op.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace belfry {

/// What reductions have done so far.
struct ReductionStatistics {
  std::uint64_t reductions = 0;     ///< Calls.
  std::uint64_t host_leaves = 0;    ///< Reduced in host memory, in replica order.
  std::uint64_t tensor_leaves = 0;  ///< Reduced by the communicator or by kernels.
  std::uint64_t bytes = 0;          ///< Of all inputs.

  bool operator==(const ReductionStatistics&) const = default;
};

/// How a reduction over replicas is carried out (SEM-30 to SEM-35). Host leaves are folded in host
/// memory; tensors go through the backend's communicator where its declared order will do, else
/// through copies to the first device, one n-way kernel there, and copies back.
class CrossDeviceOps {
 public:
  /// `order`: the order every reduction must have; none: whatever the communicator declares for
  /// tensors, replica order for host leaves.
  CrossDeviceOps(Backend& backend, std::vector<int> devices, std::optional<ReductionOrder> order);

  /// Replaces the leaves of every part by the reduction over all parts. `parts[i]` are the leaves
  /// of the i-th replica of `present`; the structures are equal. With `everywhere` false, host
  /// leaves are written in part 0 only. Tensors of some replicas alone never go through the
  /// communicator, which has all devices as members (SEM-91).
  /// Order: tensors are enqueued on communication streams, between the work that made them and
  /// later work of their compute streams; the host does not block.
  /// Throws: InvalidArgumentError (kIntegerMean), (kDType) for bool, (kInvalidArgument) for no
  /// ReduceOp or a default-constructed tensor; DeviceError.
  void all_reduce(ReduceOp op, std::span<const std::vector<LeafRef>> parts, bool everywhere,
                  const detail::Participants& present);

  /// All elements of all parts, one part after another in replica order, as a vector on each
  /// replica's device. `parts[i]` is that of the i-th replica of `present`; counts may differ.
  /// Order: as for all_reduce, by the communicator where all replicas are present, all counts are
  /// equal and it has the element type, else by copies on compute streams. Throws: DeviceError;
  /// InvalidArgumentError (kInvalidArgument) for a default-constructed tensor.
  std::vector<AnyTensor> all_gather(std::span<const AnyTensor> parts,
                                    const detail::Participants& present);
  /// Replaces the leaves of `parts.front()` by the reduction over all parts, any number of them,
  /// added up in that order whatever the strategy asks for; tensors on the first device, where they
  /// are computed on its compute stream. The structures are equal.
  /// Throws: as all_reduce.
  void fold(ReduceOp op, std::span<const std::vector<LeafRef>> parts);

  /// The order in which tensors are added up.
  ReductionOrder tensor_order();
  /// What reductions from here on shall have.
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
