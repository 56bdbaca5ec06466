// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/cross_device_ops.h"

#include <string>
#include <vector>

namespace belfry {

/// Groups of neighbouring replicas that the links between the devices make (SEM-146).
struct LinkedGroups {
  /// The replicas of each group, at least 2; 0: the links make no groups, or are unknown.
  int size = 0;
  std::string warning{};  ///< A sentence about links that are left out.
};

/// The groups that `links`, or without links the backend's connections, make of the devices; see
/// choose_the_best.
LinkedGroups linked_groups(const ReplicaDevices& devices,
                           const std::vector<std::vector<int>>& links);

}  // namespace belfry
