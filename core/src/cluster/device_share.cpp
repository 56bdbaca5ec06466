// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/device_share.h"

#include "belfry/detail/options_text.h"
#include "belfry/error.h"

#include <cstdint>
#include <numeric>

namespace belfry {

std::string to_string(const DeviceShare& share) {
  const DeviceShare usual;
  detail::OptionsText text;
  text.add("local_rank", share.local_rank, usual.local_rank);
  text.add("per_process", share.per_process, usual.per_process);
  text.add("on_host", share.on_host, usual.on_host);
  return text.text();
}

std::vector<int> devices_of_process(const DeviceShare& share, CallSite site) {
  const std::int64_t first = std::int64_t{share.local_rank} * share.per_process;
  const bool negative = share.local_rank < 0 || share.per_process < 0 || share.on_host < 0;
  if (negative || first + share.per_process > share.on_host) {
    throw InvalidArgumentError(
        ErrorCode::kInvalidArgument,
        "the host has " + std::to_string(share.on_host) + " devices, and process " +
            std::to_string(share.local_rank) + " of the host has no share of " +
            std::to_string(share.per_process),
        "start fewer processes on the host, or give each process fewer devices", site);
  }
  std::vector<int> devices(static_cast<std::size_t>(share.per_process));
  std::iota(devices.begin(), devices.end(), static_cast<int>(first));
  return devices;
}

}  // namespace belfry
