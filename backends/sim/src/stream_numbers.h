// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace belfry::sim {

// Streams are numbered by device, so that a number does not depend on who was first to use one.
// Numbers of streams beyond the sixteenth of a device follow after those of all devices.
inline constexpr std::int32_t kStreamsOfDevice = 16;

/// `device 1 compute`, `device 1 communication`, `device 1 stream 2`.
inline std::string stream_name(int device, std::int32_t own) {
  std::string name = "device " + std::to_string(device) + " ";
  if (own == 0) return name + "compute";
  if (own == 1) return name + "communication";
  return name + "stream " + std::to_string(own);
}

}  // namespace belfry::sim
