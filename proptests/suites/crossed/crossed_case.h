// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/belfry.h"
#include "belfry/testing/backend_factory.h"
#include "belfry/testing/topology.h"
#include "belfry/testing/values.h"

#include <rapidcheck.h>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// A reduction with everything that may be combined: algorithm, order, packs, element type,
// residence of the values, destination, operator, lengths and devices.
namespace belfry::testing::crossed {

/// StrategyOptions::cross_device_ops, the simplest first.
enum class Route : std::uint8_t {
  kNoneGiven,
  kNative,
  kToOneDevice,
  kRing,
  kRingWithOptions,
  kTree,
  kHalvingDoubling,
  kShuffle,
  kHierarchical,
};

/// The memory of the leaves. kMixed has leaves in host memory and on devices in turn, and a tensor
/// of doubles among the tensors.
enum class Residence : std::uint8_t { kOnHost, kOnDevices, kMixed };

/// The verb, and the kind of destination.
enum class Target : std::uint8_t {
  kInReplicas,  ///< all_reduce on the replicas.
  kOwnDevices,  ///< reduce without a destination.
  kOneDevice,
  kListOfDevices,
  kVariable,
};

/// A case of the property: every member is drawn, printed and shrunk.
struct Case {
  BackendRequest backend{};
  Topology replicas{};  ///< On the devices of the backend.
  Route route = Route::kNoneGiven;
  int option = 0;  ///< Selects the options of the algorithm; 0 is the simplest choice.
  std::optional<ReductionOrder> order{};
  bool packed = false;
  int largest = 0;  ///< PackOptions::bytes_per_tensor.
  int limit = 0;    ///< PackOptions::bytes_per_pack.
  Residence residence = Residence::kOnHost;
  Target target = Target::kInReplicas;
  std::vector<int> destination{0};  ///< Devices of the backend; the first for kOneDevice.
  DType dtype = DType::kFloat32;
  ReduceOp op = ReduceOp::kSum;        ///< MEAN never of integers.
  std::vector<std::size_t> lengths{};  ///< Of the leaves.
  Values values{};

  int members() const { return static_cast<int>(replicas.devices.size()); }
  /// The devices of the variable of kVariable, in replica order: those of the destination that have
  /// a replica, or all that have one.
  std::vector<int> homes() const;
  /// The options of kRingWithOptions.
  RingOptions ring() const;
  /// The groups of kHierarchical; none for groups of ceil(sqrt N) neighbours.
  std::vector<std::vector<int>> groups() const;
  /// The shards of kShuffle; 0 for N.
  int shards() const;
  /// A new object of the algorithm, in packs if the case has packs; null for kNoneGiven.
  std::shared_ptr<CrossDeviceOps> algorithm() const;
};

/// `mean of leaves of 0, 1, 7 float32 on devices, ...`.
std::string to_string(const Case& drawn);
void showValue(const Case& drawn, std::ostream& out);

/// Any case of the route with up to 17 devices. Lengths are 0, 1, primes, and numbers beside edges
/// of chunks.
rc::Gen<Case> any_case(Route route);

}  // namespace belfry::testing::crossed
