// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/collective.h"
#include "belfry/backend/kernel.h"
#include "belfry/backend/process_parts.h"
#include "belfry/call_site.h"
#include "belfry/cross_device_ops.h"
#include "belfry/detail/function_ref.h"
#include "belfry/detail/participants.h"
#include "belfry/detail/prints.h"
#include "belfry/detail/reductions/reduce_op.h"
#include "belfry/detail/strategy/options.h"
#include "belfry/dtype.h"
#include "belfry/nest.h"
#include "belfry/tensor.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belfry {

/// Throws: InvalidArgumentError (kInvalidArgument) for a number that stands for no operator.
void require_operator(ReduceOp op, CallSite site);
/// Throws: InvalidArgumentError (kInvalidArgument) for a number that stands for no operator,
/// (kDType) for bool, (kIntegerMean) for MEAN of integers.
void require_reducible(ReduceOp op, DType dtype, CallSite site = {});
/// The same for a leaf. Throws: InvalidArgumentError (kDType) also for MEAN of a type with
/// ElementTraits without `divide`.
void require_reducible(ReduceOp op, const LeafRef& leaf, CallSite site = {});

namespace detail {

struct PartsOfProcesses;

/// Carries out the reductions and gathers of a strategy (SEM-30 to SEM-35, SEM-146): host leaves in
/// host memory, tensors by the strategy's CrossDeviceOps.
class StrategyReductions {
 public:
  StrategyReductions(Backend& backend, std::vector<int> devices)
      : devices_(backend, std::move(devices)), own_(devices_.size()) {}

  /// Later reductions are over the replicas of all processes. `devices` has a device of this
  /// process for each of these replicas, and `own` names the replicas of this process. No
  /// communicator joins the devices: the values of other processes arrive in host memory.
  void span_processes(std::vector<int> devices, const Participants& own);

  /// Later reductions of tensors with elements in other processes go through `communicator`, over
  /// the devices of all processes. Null: the devices cannot be joined, and tensors of other
  /// processes have to be brought here.
  void join_processes(std::unique_ptr<Communicator> communicator);
  /// Later reductions of tensors with elements in other processes exchange parts, if no
  /// communicator joins the devices, and reduce held elements on the host (SEM-220).
  void exchange_parts(PartsExchange exchange);
  bool exchanges_parts() const { return parts_ != nullptr; }
  /// Whether the host may reduce tensors of several processes: no algorithm is set.
  bool may_reduce_on_host() const { return algorithm_ == nullptr; }
  /// Whether the order depends on no element's place in its tensor.
  bool may_exchange_parts() const { return order_ != ReductionOrder::kRing; }
  bool cannot_join_processes() const { return cannot_join_processes_; }
  /// Null before join_processes.
  Communicator* process_communicator() { return process_communicator_.get(); }
  /// Whether tensors are reduced as the communicator of the devices does: neither an order nor an
  /// algorithm is set.
  bool is_native() const { return algorithm_ == nullptr && !order_; }

  /// Later reductions and gathers over exactly `members` go through a communicator of the members,
  /// which is made once, and give non-members nothing; null: no group. Returns the group before.
  /// `members` stays valid until the next call. An algorithm of the options keeps its own way.
  const Participants* enter_group(const Participants* members) {
    return std::exchange(group_, members);
  }

  /// Sets the algorithm and the order of later reductions, as StrategyOptions says, and tells the
  /// log. Without an order: the order of the algorithm for tensors, replica order for host leaves.
  /// Throws: InvalidArgumentError (kInvalidArgument) for a number that is no ReductionOrder, for an
  /// order that the algorithm cannot have, and for an algorithm that does not fit. Nothing is set
  /// then.
  void configure(const StrategyOptions& options, CallSite site);

  /// Replaces the leaves of every part by the reduction over all parts. `parts[i]` are the leaves
  /// of the i-th participating replica of `present`; all structures are equal. With `everywhere`
  /// false, host leaves are written in part 0 only.
  /// Order: tensors are enqueued on communication streams, after the work that made them and before
  /// later work with inputs and results (SEM-245); the host does not block.
  /// Throws: InvalidArgumentError (kIntegerMean), (kDType) for bool, (kInvalidArgument) for a
  /// number that is no ReduceOp or for a default-constructed tensor; DeviceError.
  void all_reduce(ReduceOp op, std::span<const std::vector<LeafRef>> parts, bool everywhere,
                  const Participants& present);

  /// Replaces the leaves of `parts.front()` by the reduction over all parts, in host memory, as
  /// all_reduce does with host leaves; no leaf is a tensor. Counts nothing. Throws: as all_reduce.
  void reduce_on_host(ReduceOp op, std::span<const std::vector<LeafRef>> parts) const;
  /// Counts a reduction of `parts` parts with such leaves.
  void count(std::span<const LeafRef> leaves, std::size_t parts);

  /// All elements of all parts, part after part in replica order, as a vector on the device of each
  /// replica of this process, or of each member of the group. `parts[i]` belongs to the i-th
  /// replica of `present`; counts may differ. Order: through the communicator if there is one and
  /// all replicas participate, ordered as in all_reduce; else by copies on compute streams.
  /// Throws: DeviceError; InvalidArgumentError (kInvalidArgument) for a default-constructed
  /// tensor.
  std::vector<AnyTensor> all_gather(std::span<const AnyTensor> parts, const Participants& present);
  /// The communicator that reduces tensors of this type over `present`, and whose reduce-scatter
  /// has the same elements (SEM-261): of the devices of this process, or of all processes. Null: an
  /// algorithm or another order reduces the tensors. Order, Throws: as
  /// ReplicaDevices::communicator.
  Communicator* native_communicator(DType dtype, const Participants& present, bool is_of_processes);
  /// The reduction over the slices for each rank of this process, as a vector on its device.
  /// `slices[i]` has, on the device of the i-th rank of this process, the slices for all ranks, one
  /// after another, of `counts` elements. Order: as all_reduce. Throws: DeviceError.
  static std::vector<AnyTensor> reduce_scatter(Communicator& communicator, ReduceOp op,
                                               std::span<const AnyTensor> slices,
                                               std::span<const std::size_t> counts);
  /// An exchange by the communicator of the processes. Order: as all_reduce. Throws: DeviceError.
  void exchange(std::span<const Transfer> transfers);
  /// Replaces the leaves of `parts.front()` by the reduction over all parts, in the order of
  /// `parts`, whatever the strategy's order. Any number of parts; all structures are equal. Tensors
  /// are on the first device and are reduced on its compute stream.
  /// Throws: as all_reduce.
  void fold(ReduceOp op, std::span<const std::vector<LeafRef>> parts);

  /// The order of additions for tensors, if all replicas take part.
  ReductionOrder tensor_order() { return order_ ? *order_ : algorithm().order(devices_); }
  /// The order in which all_reduce over the replicas of `present` adds the elements of a leaf.
  ReductionOrder order_of(const LeafRef& leaf, const Participants& present);
  /// The name of the algorithm of the options or of the links; `native` without both.
  std::string_view algorithm_name() { return algorithm().name(); }
  const ReductionStatistics& statistics() const { return statistics_; }

 private:
  void check(const StrategyOptions& options, CallSite site);
  std::string sentence_about(const StrategyOptions& options);
  CrossDeviceOps& algorithm();
  void count_leaf(const LeafRef& leaf, std::size_t parts);
  KernelCall call_on_host(ReduceOp op) const;
  void reduce_tensor_leaves(ReduceOp op, std::span<const std::vector<LeafRef>> parts,
                            std::span<const std::size_t> leaves, const Participants& present);
  void reduce_in_processes(ReduceOp op, std::span<const std::vector<LeafRef>> parts,
                           std::span<const std::size_t> leaves, const Participants& present);
  void reduce_by_parts(ReduceOp op, std::span<const std::vector<LeafRef>> parts,
                       std::span<const std::size_t> leaves, const Participants& present);
  using Reduce = FunctionRef<void(std::span<const CollectivePart>)>;
  void reduce_where_they_are(std::span<const std::vector<LeafRef>> parts,
                             std::span<const std::size_t> leaves, const Participants& present,
                             Reduce reduce);
  bool is_group(const Participants& present) const {
    return group_ != nullptr && *group_ == present;
  }
  // The devices that a collective of `present` joins: those of all replicas, or of a group.
  ReplicaDevices& joined_by(const Participants& present);
  void gather_natively(ReplicaDevices& devices, std::span<const AnyTensor> parts,
                       std::span<const AnyTensor> tables);

  ReplicaDevices devices_;
  std::map<std::vector<int>, ReplicaDevices> group_devices_;  // By the devices of the members.
  const Participants* group_ = nullptr;                       // While its merge is executed.
  Participants own_;
  NativeAllReduce native_;
  std::shared_ptr<CrossDeviceOps> algorithm_;  // Of the options, or of the links; null: native_.
  std::optional<ReductionOrder> order_;
  std::unique_ptr<Communicator> process_communicator_;
  bool cannot_join_processes_ = false;
  std::shared_ptr<PartsOfProcesses> parts_;  // Null before exchange_parts; of this object alone.
  ReductionStatistics statistics_;
};

}  // namespace detail
}  // namespace belfry
