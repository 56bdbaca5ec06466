// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/cross_device_ops.h"
#include "belfry/planned_all_reduce.h"
#include "collectives/linked_groups.h"
#include "collectives/neighbour_groups.h"

#include <fmt/format.h>

#include <utility>

namespace belfry {

std::string to_string(const AlgorithmChoice& choice) {
  return choice.warning.empty() ? choice.reason : choice.reason + "; warning: " + choice.warning;
}

AlgorithmChoice choose_the_best(ReplicaDevices& devices,
                                const std::vector<std::vector<int>>& links) {
  const int replicas = devices.size();
  if (replicas == 1) {
    return {std::make_shared<ReductionToOneDevice>(),
            "tensors are reduced to one device, because there is one replica", ""};
  }
  LinkedGroups groups = linked_groups(devices, links);
  if (groups.size != 0) {
    // Every element is added in the same order, so that packs keep the bits.
    auto hierarchical =
        std::make_shared<HierarchicalAllReduce>(neighbour_groups(replicas, groups.size));
    return {in_packs(std::move(hierarchical)),
            fmt::format("tensors are reduced by the hierarchical algorithm, because the links make "
                        "groups of {} replicas; small tensors are packed",
                        groups.size),
            ""};
  }
  if (devices.communicator() != nullptr) {
    return {std::make_shared<NativeAllReduce>(),
            "tensors are reduced by the native algorithm, because the backend has a communicator "
            "among the devices",
            std::move(groups.warning)};
  }
  return {std::make_shared<ReductionToOneDevice>(),
          "tensors are reduced to one device, because the backend has no communicator among the "
          "devices",
          groups.warning.empty() ? "the first device receives every tensor of every replica"
                                 : std::move(groups.warning)};
}

}  // namespace belfry
