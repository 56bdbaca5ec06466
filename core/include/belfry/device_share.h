// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/prints.h"

#include <string>
#include <vector>

namespace belfry {

/// The devices of one host, shared out evenly to the processes on the host.
struct DeviceShare {
  int local_rank = 0;   ///< The number of the process among the processes on the host.
  int per_process = 1;  ///< Devices of each process; may be 0.
  int on_host = 1;      ///< Devices of the host.

  bool operator==(const DeviceShare&) const = default;
};

/// C++ that makes the share: `{.local_rank = 1, .on_host = 4}`.
std::string to_string(const DeviceShare& share);

/// The numbers of the process's devices: with 4 devices on the host and 2 for each process, the
/// process with local rank 1 has the devices 2 and 3 (SEM-205).
/// Throws: InvalidArgumentError (kInvalidArgument) if the host has too few devices, or a number is
/// negative.
std::vector<int> devices_of_process(const DeviceShare& share, CallSite site = CallSite::here());

}  // namespace belfry
