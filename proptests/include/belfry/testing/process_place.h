// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/backend.h"
#include "belfry/process_group.h"

#include <cstddef>
#include <numeric>
#include <vector>

namespace belfry::testing {

/// The place of a process in a case with several processes.
struct ProcessPlace {
  ProcessGroup& group;          ///< The processes of the case.
  std::vector<int> devices_of;  ///< The numbers of devices, by process.
  Backend* backend = nullptr;   ///< The devices of the process; null: by the factory.

  /// The number of devices of the process.
  int devices() const { return devices_of[static_cast<std::size_t>(group.rank())]; }
  /// The number of replicas of all processes.
  int replicas() const { return std::accumulate(devices_of.begin(), devices_of.end(), 0); }
  /// The id of the first replica of the process; without devices, of the next replica.
  int first_replica() const {
    return std::accumulate(devices_of.begin(), devices_of.begin() + group.rank(), 0);
  }
};

}  // namespace belfry::testing
