// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/digest.h"

#include <cstring>

namespace belfry::engine {
namespace {

constexpr std::size_t kPieces = 64;
constexpr std::size_t kPieceBytes = 64;
constexpr std::size_t kLanes = 4;

std::uint64_t word(const std::byte* data, std::size_t bytes = sizeof(std::uint64_t)) {
  std::uint64_t value = 0;
  std::memcpy(&value, data, bytes);
  return value;
}

// Word k of 8 bytes goes to lane k mod 4: the multiplications of a lane wait for one another, and
// four lanes keep the multipliers busy. The lanes, the rest and the length are mixed in the end.
std::uint64_t digest_all(std::uint64_t hash, const std::byte* data, std::size_t bytes) {
  std::uint64_t lanes[kLanes] = {hash, hash + 1, hash + 2, hash + 3};
  std::size_t at = 0;
  for (; at + kLanes * 8 <= bytes; at += kLanes * 8) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = mix(lanes[lane], word(data + at + lane * 8));
    }
  }
  for (const std::uint64_t lane : lanes) hash = mix(hash, lane);
  for (; at + 8 <= bytes; at += 8) hash = mix(hash, word(data + at));
  if (at < bytes) hash = mix(hash, word(data + at, bytes - at));
  return mix(hash, bytes);
}

}  // namespace

std::uint64_t digest(std::uint64_t hash, const std::byte* data, std::size_t bytes,
                     DigestExtent extent) {
  if (extent == DigestExtent::kNone) return hash;
  if (extent == DigestExtent::kAll || bytes <= kPieces * kPieceBytes) {
    return digest_all(hash, data, bytes);
  }
  const std::size_t last = bytes - kPieceBytes;
  for (std::size_t piece = 0; piece < kPieces; ++piece) {
    // 64 pieces from the first bytes to the last, evenly spaced. The multiplication is first: the
    // last piece is then the end of the data.
    const std::size_t at = last * piece / (kPieces - 1);
    hash = digest_all(hash, data + at, kPieceBytes);
  }
  return mix(hash, bytes);
}

}  // namespace belfry::engine
