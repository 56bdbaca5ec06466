// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/backend.h"
#include "belfry/call_site.h"
#include "belfry/detail/prints.h"
#include "belfry/detail/reductions/reduce_op.h"
#include "belfry/device_spec.h"
#include "belfry/tensor.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belfry {

struct ReductionPlan;

/// The devices of a strategy's replicas, in replica order, and their communicator.
class ReplicaDevices {
 public:
  /// The devices of `backend` with these indices. Throws nothing: strategies check the indices.
  ReplicaDevices(Backend& backend, std::vector<int> indices);
  /// For belfry itself: devices that share no communicator. Replicas of other processes have a
  /// device of this process, which may be the device of several replicas.
  static ReplicaDevices without_communicator(Backend& backend, std::vector<int> indices);

  Backend& backend() const { return *backend_; }                  ///< The backend of the devices.
  int size() const { return static_cast<int>(indices_.size()); }  ///< The number of replicas.
  /// The index in the backend of each replica's device.
  const std::vector<int>& indices() const { return indices_; }
  /// The index in the backend of a replica's device.
  int index(int replica) const { return indices_[static_cast<std::size_t>(replica)]; }
  /// The device of a replica.
  Device& device(int replica) const { return backend_->device(index(replica)); }
  /// The communicator among all the devices, made at the first call; null if the backend offers no
  /// collectives among the devices.
  /// Order: the first call may block the host.
  /// Throws: DeviceError.
  Communicator* communicator();

 private:
  Backend* backend_;
  std::vector<int> indices_;
  std::unique_ptr<Communicator> communicator_;
  bool communicator_is_impossible_ = false;
};

/// Tensors of one element type to be reduced over the replicas that take part: an argument of
/// CrossDeviceOps::all_reduce.
struct TensorReduction {
  ReduceOp op = ReduceOp::kSum;  ///< The operator.
  /// StrategyOptions::order: an order that the algorithm can have, or none.
  std::optional<ReductionOrder> order{};
  /// Tensor after tensor, each with a part of every member. An output may be the same view as the
  /// input; all other views are disjoint. The streams of a member are the same for all tensors.
  std::span<const CollectivePart> parts{};
  /// The replicas that take part, in replica order: at least 1.
  std::size_t members = 1;
  /// The devices of all replicas, also of replicas that take no part.
  ReplicaDevices* devices = nullptr;

  /// The number of tensors.
  std::size_t tensors() const { return parts.size() / members; }
  /// The parts of one tensor, a part for each member.
  std::span<const CollectivePart> tensor(std::size_t index) const {
    return parts.subspan(index * members, members);
  }
  /// Whether all replicas of the strategy take part.
  bool all_replicas_take_part() const;
  /// The communicator whose ranks are the members; null if the backend has no communicator, or if
  /// some replicas take no part.
  /// Order, Throws: as ReplicaDevices::communicator.
  Communicator* communicator() const;
};

/// An algorithm that reduces tensors over devices: it decides the route of the bytes, and the order
/// of additions if the strategy names none (SEM-146).
///
///     auto ring = std::make_shared<RingAllReduce>();
///     MirroredStrategy strategy{backend, {.cross_device_ops = ring}};
///
/// Host leaves, gathers and users' reductions never reach an algorithm.
///
/// A strategy shares ownership of its algorithm. An object may serve several strategies, one after
/// another or at once; strategies on different threads may call the object at the same time. The
/// algorithms of belfry never change.
class CrossDeviceOps {
 public:
  CrossDeviceOps() = default;
  CrossDeviceOps(const CrossDeviceOps&) = delete;
  CrossDeviceOps& operator=(const CrossDeviceOps&) = delete;
  virtual ~CrossDeviceOps() = default;

  /// The name in messages: `ring`.
  virtual std::string_view name() const = 0;
  /// Checks that the algorithm can serve the devices, when a strategy is made with the algorithm or
  /// configured. The default accepts all devices.
  /// Throws: InvalidArgumentError (kInvalidArgument), for example for options of another number of
  /// replicas.
  virtual void require_fit(const ReplicaDevices& /*devices*/) const {}
  /// The order of additions if the strategy names none and all replicas take part.
  virtual ReductionOrder order(ReplicaDevices& devices) const = 0;
  /// Whether the algorithm can add in `order`; asked when a strategy that names an order is made or
  /// configured. By default the algorithm's own order alone.
  virtual bool can_add_in(ReductionOrder order, ReplicaDevices& devices) const {
    return order == this->order(devices);
  }
  /// The steps, the traffic and the additions among this many members (SEM-147); none if the
  /// algorithm does not tell.
  virtual std::optional<ReductionPlan> plan(int members) const;
  /// Sets every output to the reduction over all inputs of the tensor. 16-bit floats are added in
  /// float and rounded once; MEAN is SUM and one division, before the rounding (SEM-31, SEM-33).
  /// Called on the thread that called `run`, while no replica runs.
  /// Order: enqueues on the streams of the parts, or on streams ordered with these by events. Work
  /// that is on a part's stream before the call precedes the reduction; the reduction precedes work
  /// that comes later. The host does not block.
  /// Throws: DeviceError. Exceptions of a user's algorithm pass to the caller of the reduction.
  virtual void all_reduce(const TensorReduction& reduction) = 0;
};

/// The collectives of the backend's communicator, in the order that the communicator declares. A
/// reduction outside the communicator's offer goes the way of ReductionToOneDevice, small tensors
/// in packs (SEM-149): an element type that the communicator lacks, replicas that take no part,
/// devices without a communicator.
class NativeAllReduce final : public CrossDeviceOps {
 public:
  std::string_view name() const override { return "native"; }
  ReductionOrder order(ReplicaDevices& devices) const override;
  void all_reduce(const TensorReduction& reduction) override;
};

/// Copies every input to one device, adds up with a single kernel there, and copies the result
/// back. Replica order, or any order that the strategy names.
class ReductionToOneDevice final : public CrossDeviceOps {
 public:
  /// Adds on the device of the first member.
  ReductionToOneDevice() = default;
  /// Adds on `device`: the host, or any other device of the backend.
  explicit ReductionToOneDevice(DeviceSpec device) : device_(std::move(device)) {}

  std::string_view name() const override { return "to one device"; }
  ReductionOrder order(ReplicaDevices&) const override { return ReductionOrder::kReplicaOrder; }
  bool can_add_in(ReductionOrder, ReplicaDevices&) const override { return true; }
  /// Throws InvalidArgumentError (kUnknownDevice) if the backend lacks the named device.
  void require_fit(const ReplicaDevices& devices) const override;
  /// One step with the sum of all inputs on member 0, and one with the copies. None for a named
  /// device, which may be the device of no member.
  std::optional<ReductionPlan> plan(int members) const override;
  void all_reduce(const TensorReduction& reduction) override;

 private:
  std::optional<DeviceSpec> device_{};
};

/// The bounds of packs.
struct PackOptions {
  /// The largest tensor that is packed: larger tensors take longer to copy than to reduce. At least
  /// 0, which is no bound.
  std::int64_t bytes_per_tensor = 4096;
  /// A pack takes tensors until it has more bytes than this; a larger tensor is reduced alone. At
  /// least 0, which is no bound: a pack for each element type.
  std::int64_t bytes_per_pack = 65536;
};

/// The options as an initializer that compiles, without members of their usual value.
std::string to_string(const PackOptions& options);

/// An algorithm that copies the small tensors of a call into packs, from the last tensor to the
/// first, reduces the packs by `algorithm`, and copies the results back (SEM-149). A pack of one
/// tensor is reduced where the tensor is, without copies. The name is `packed`, and the name of
/// `algorithm`.
/// The order is that of `algorithm`, if the same for all elements: replica order or tree order.
/// Else it is unspecified: the place of an element in a pack decides its additions. For the same
/// reason the plan is that of `algorithm` if it has one chunk, and else none; and a strategy may
/// name every order that `algorithm` can add in, except ring order. Throws: InvalidArgumentError
/// (kInvalidArgument) if `algorithm` is null, or a bound negative. The new algorithm throws
/// StructureMismatchError (kStructure) if members have different tensors, before any work is
/// enqueued; DeviceError; exceptions of `algorithm`.
std::shared_ptr<CrossDeviceOps> in_packs(std::shared_ptr<CrossDeviceOps> algorithm,
                                         PackOptions options = {},
                                         CallSite site = CallSite::here());

/// An algorithm for the devices of a strategy, and why.
struct AlgorithmChoice {
  std::shared_ptr<CrossDeviceOps> algorithm{};  ///< Never null.
  std::string reason{};                         ///< A sentence that names the algorithm.
  std::string warning{};  ///< A sentence about links or devices that may not be what was meant.
};

/// The reason, then `; warning: ` and the warning, unless the warning is empty.
std::string to_string(const AlgorithmChoice& choice);

/// The algorithm for tensors that are reduced over these replicas (SEM-146). `links[i]` lists the
/// replicas whose devices have a direct, fast link to the device of replica i; a list may name its
/// own replica. Without lists, Backend::connections() has the links; they are unknown if
/// the backend knows none. The first rule that holds decides:
///
/// 1. one replica: ReductionToOneDevice, which copies nothing between devices;
/// 2. the links make groups: neighbouring replicas form two or more groups of equal size, at least
///    2, each replica is linked to all others of its group, and some replicas of different groups
///    are not linked: HierarchicalAllReduce with the largest such groups, small tensors in packs
///    (`in_packs`);
/// 3. the backend has a communicator among the devices: NativeAllReduce;
/// 4. ReductionToOneDevice, with a warning.
///
/// Lists that are not symmetric, or not one for each replica, are left out with a warning.
/// Order: may make the communicator, which may block the host.
/// Throws: DeviceError.
AlgorithmChoice choose_the_best(ReplicaDevices& devices,
                                const std::vector<std::vector<int>>& links = {});

}  // namespace belfry
