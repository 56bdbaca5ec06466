// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace belfry::engine {

/// The amount of a command's written bytes that enters its digest.
enum class DigestExtent : std::uint8_t {
  kNone,
  kSampled,  ///< Up to 64 evenly spaced pieces of 64 bytes: cheap, and sees most differences.
  kAll,
};

/// Mixes `value` into `hash`: a step of every hash in the simulator. Not for adversaries.
constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  std::uint64_t x = (hash ^ value) * 0x9E3779B97F4A7C15u;
  x ^= x >> 32;
  x *= 0xD6E8FEB86659FD93u;
  return x ^ x >> 29;
}

/// A digest of `bytes` bytes, continuing `hash`; the same on machines of either byte order only for
/// equal bytes.
std::uint64_t digest(std::uint64_t hash, const std::byte* data, std::size_t bytes,
                     DigestExtent extent);

}  // namespace belfry::engine
