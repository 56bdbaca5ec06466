// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace belfry::detail {

/// The number of the first byte above 1; the size if no byte is.
inline std::size_t first_other_than_bool(std::span<const std::byte> bytes) {
  const auto at = std::ranges::find_if(bytes, [](std::byte byte) { return byte > std::byte{1}; });
  return static_cast<std::size_t>(at - bytes.begin());
}

}  // namespace belfry::detail
