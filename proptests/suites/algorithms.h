// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/planned_all_reduce.h"

#include <memory>
#include <vector>

namespace belfry::testing {

/// An object of every algorithm of belfry, on a backend whose host is a device, and null for the
/// default.
inline std::vector<std::shared_ptr<CrossDeviceOps>> every_algorithm() {
  return {nullptr,
          std::make_shared<NativeAllReduce>(),
          std::make_shared<ReductionToOneDevice>(),
          std::make_shared<ReductionToOneDevice>(DeviceSpec{}),  // The host.
          std::make_shared<RingAllReduce>(),
          std::make_shared<RingAllReduce>(RingOptions{.start = 1}),
          std::make_shared<TreeAllReduce>(),
          std::make_shared<HalvingDoublingAllReduce>(),
          std::make_shared<ShuffleAllReduce>(),
          std::make_shared<HierarchicalAllReduce>()};
}

}  // namespace belfry::testing
