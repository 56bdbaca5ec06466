// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace belfry::sim {

// Streams are numbered by device, so that a number does not depend on who was first to use one.
// Numbers of the host's streams, and of streams beyond the sixteenth of a device, follow after
// those of all devices.
inline constexpr std::int32_t kStreamsOfDevice = 16;

/// `device 1 compute`, `device 1 communication`, `host stream 2`.
inline std::string stream_name(const std::string& place, std::int32_t own) {
  if (own == 0) return place + " compute";
  if (own == 1) return place + " communication";
  return place + " stream " + std::to_string(own);
}

}  // namespace belfry::sim
