// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace belfry::detail {

inline constexpr std::uint64_t kDigestPrime = 0x100000001b3;

/// A digest of a text, FNV-1a, after the digest of the text before.
inline std::uint64_t text_digest(std::string_view text, std::uint64_t before = 0xcbf29ce484222325) {
  for (const char c : text) before = (before ^ static_cast<unsigned char>(c)) * kDigestPrime;
  return before;
}

}  // namespace belfry::detail
