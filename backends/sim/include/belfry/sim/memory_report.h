// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/device.h"
#include "belfry/detail/prints.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace belfry::sim {

/// The memory of a device.
struct DeviceMemoryReport {
  int device = 0;   ///< The index of the device.
  MemoryUse use{};  ///< The counters of the device's allocator.
};

/// `device 1: ` and the text of the counters.
std::string to_string(const DeviceMemoryReport& report);

/// A live buffer.
struct LiveBuffer {
  int device = 0;            ///< The index of the device; below 0: the host.
  std::uint64_t number = 0;  ///< Among the buffers of the device, from 0, in order of allocation.
  std::size_t bytes = 0;     ///< The size.

  bool operator==(const LiveBuffer&) const = default;
};

/// `buffer 3 of device 1 (4096 bytes)`, `buffer 3 of the host (4096 bytes)`.
std::string to_string(const LiveBuffer& buffer);

using belfry::operator<<;

}  // namespace belfry::sim
