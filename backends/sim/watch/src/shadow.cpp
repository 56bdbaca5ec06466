// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "shadow.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <new>

namespace belfry::sim::watch {
namespace {

void* map_lazily(std::size_t bytes) {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  ::madvise(memory, bytes, MADV_NOHUGEPAGE);  // The use of the pages is sparse.
  return memory;
}

constexpr std::array<std::array<Agents, 9>, 8> make_lanes() {
  std::array<std::array<Agents, 9>, 8> lanes{};
  for (unsigned first = 0; first < 8; ++first) {
    for (unsigned count = 0; count <= 8; ++count) {
      Agents mask{};
      for (unsigned k = first; k < std::min(8U, first + count); ++k) mask[k] = 0xFFFF;
      lanes[first][count] = mask;
    }
  }
  return lanes;
}

const std::array<std::array<Agents, 9>, 8> kLanes = make_lanes();

}  // namespace

Agents lanes_of(unsigned first, unsigned count) { return kLanes[first][count]; }

// Memory of zeros is a table of granules without marks.
Shadow::Shadow()
    : leaves_(static_cast<Granule**>(map_lazily(sizeof(Granule*) << (kAddressBits - kLeafBits)))) {}

Granule* Shadow::make_leaf(std::uintptr_t address) {
  auto* const leaf = static_cast<Granule*>(map_lazily(kLeafBytes / 8 * sizeof(Granule)));
  leaves_[address >> kLeafBits] = leaf;
  return leaf;
}

void Shadow::forget(std::uintptr_t address, std::size_t bytes) noexcept {
  const std::uintptr_t end = address + bytes;
  while (address < end) {
    const std::uintptr_t end_of_leaf = (address / kLeafBytes + 1) * kLeafBytes;
    const std::uintptr_t stop = std::min(end, end_of_leaf);
    if (Granule* const leaf = leaves_[address >> kLeafBits]; leaf != nullptr) {
      for (std::uintptr_t at = address; at < stop; at = (at / 8 + 1) * 8) {
        if (at % 8 == 0 && stop - at >= 8) {
          leaf[at % kLeafBytes / 8].phase = 0;
          continue;
        }
        const Agents kept = ~lanes_of(
            at % 8, static_cast<unsigned>(std::min<std::uintptr_t>(8 - at % 8, stop - at)));
        Granule& granule = leaf[at % kLeafBytes / 8];
        if (granule.phase == 0) continue;
        granule.writers.agents &= kept;
        granule.readers.agents &= kept;
        granule.others.agents &= kept;
      }
    }
    address = stop;
  }
}

}  // namespace belfry::sim::watch
