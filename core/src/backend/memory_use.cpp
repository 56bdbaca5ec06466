// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/backend/device.h"

#include <string>

namespace belfry {

std::string to_string(const MemoryUse& use) {
  const std::string text = std::to_string(use.live_bytes) + " bytes live in " +
                           std::to_string(use.live_buffers) + " buffers, " +
                           std::to_string(use.peak_bytes) + " at the peak";
  return use.limit_bytes == 0 ? text : text + ", limit " + std::to_string(use.limit_bytes);
}

}  // namespace belfry
