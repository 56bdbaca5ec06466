// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/cross_device_ops.h"
#include "belfry/detail/prints.h"

#include <memory>
#include <string>
#include <vector>

namespace belfry {

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
///    (PackedAllReduce);
/// 3. the backend has a communicator among the devices: NativeAllReduce;
/// 4. ReductionToOneDevice, with a warning.
///
/// Lists that are not symmetric, or not one for each replica, are left out with a warning.
/// Order: may make the communicator, which may block the host.
/// Throws: DeviceError.
AlgorithmChoice choose_the_best(ReplicaDevices& devices,
                                const std::vector<std::vector<int>>& links = {});

namespace detail {
template <>
inline constexpr bool kPrints<AlgorithmChoice> = true;
}  // namespace detail

}  // namespace belfry
