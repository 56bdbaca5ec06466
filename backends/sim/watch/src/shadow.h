// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "call_tree.h"

#include <cstddef>
#include <cstdint>

namespace belfry::sim::watch {

/// The number of an agent in a phase, the time between two merges: 1 + the id of the replica; 0:
/// nobody. In a phase with variables made in replicas, the bits from kIdBits on count the variables
/// that the agent has made.
using Agent = std::uint16_t;
inline constexpr int kIdBits = 11;
inline constexpr Agent kIds = (1 << kIdBits) - 1;
inline constexpr Agent kMostMade = (1 << (16 - kIdBits)) - 1;
/// A lane for each of 8 bytes.
using Agents = Agent __attribute__((vector_size(16)));

/// The agents that touched each of 8 bytes first, and the places of the accesses.
struct Marks {
  Agents agents{};
  Place places[8]{};
};

/// The marks of 8 bytes of host memory, aligned to 8, with a lane for each byte. After replica 0
/// has written bytes 0 to 3, the writers are 1 1 1 1 0 0 0 0; a read of byte 3 by replica 1, agent
/// 2, finds a writer besides itself: a conflict. Three marks for each byte suffice: if the accesses
/// of a phase to a byte are in conflict, some access is in conflict with the first writer, the
/// first reader, or the first reader that differs.
struct Granule {
  std::uint32_t phase = 0;  ///< Of the marks: marks of earlier phases, from 0, count for nothing.
  Marks writers;            ///< The first agent that wrote.
  Marks readers;            ///< The first agent that read.
  Marks others;             ///< The first reader besides the agent in `readers`.
};

/// The granules of the whole address space, in two levels. Pages get memory at their first use.
class Shadow {
 public:
  /// Throws: std::bad_alloc without address space.
  Shadow();
  Shadow(const Shadow&) = delete;
  Shadow& operator=(const Shadow&) = delete;

  /// The granule of the byte at `address`. Throws: std::bad_alloc without address space.
  Granule& at(std::uintptr_t address) {
    Granule* const leaf = leaves_[address >> kLeafBits];
    return (leaf != nullptr ? leaf : make_leaf(address))[address % kLeafBytes / 8];
  }
  /// Removes all marks of the bytes. Throws: nothing.
  void forget(std::uintptr_t address, std::size_t bytes) noexcept;

 private:
  static constexpr int kLeafBits = 22;
  static constexpr std::uintptr_t kLeafBytes = std::uintptr_t{1} << kLeafBits;
  static constexpr int kAddressBits = 48;

  Granule* make_leaf(std::uintptr_t address);

  Granule** leaves_;
};

/// The lanes of the bytes [first, first + count) of a granule: all bits set.
Agents lanes_of(unsigned first, unsigned count);
/// Whether any lane is not 0.
inline bool any(Agents lanes) {
  using Halves = std::uint64_t __attribute__((vector_size(16)));
  const auto halves = reinterpret_cast<Halves>(lanes);
  return (halves[0] | halves[1]) != 0;
}

}  // namespace belfry::sim::watch
