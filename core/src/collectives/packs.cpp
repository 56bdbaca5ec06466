// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "collectives/packs.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>

namespace belfry {
namespace {

struct OpenPack {
  Pack items{};
  std::size_t bytes = 0;
  std::size_t last_step = 0;
};

// 0 is no bound.
std::size_t bound(std::int64_t bytes) {
  return bytes == 0 ? std::numeric_limits<std::size_t>::max() : static_cast<std::size_t>(bytes);
}

}  // namespace

std::vector<Pack> packs_of(std::span<const PackItem> items, const PackOptions& bounds) {
  const std::size_t most = bound(bounds.bytes_per_pack);
  const std::size_t largest = std::min(bound(bounds.bytes_per_tensor), most);
  std::array<OpenPack, kNumDTypes> open;  // The pack of each element type that takes more items.
  std::vector<OpenPack> full;
  for (std::size_t step = 0; step < items.size(); ++step) {
    const std::size_t i = items.size() - 1 - step;
    if (items[i].elements == 0) continue;
    if (items[i].bytes() > largest) {
      full.push_back({.items = {i}, .last_step = step});
      continue;
    }
    OpenPack& pack = open[static_cast<std::size_t>(items[i].dtype)];
    pack.items.push_back(i);
    pack.bytes += items[i].bytes();
    pack.last_step = step;
    if (pack.bytes > most) full.push_back(std::exchange(pack, OpenPack{}));
  }
  for (OpenPack& pack : open) {
    if (!pack.items.empty()) full.push_back(std::move(pack));
  }
  std::ranges::sort(full, {}, &OpenPack::last_step);
  std::vector<Pack> packs;
  for (OpenPack& pack : full) {
    std::ranges::reverse(pack.items);
    packs.push_back(std::move(pack.items));
  }
  return packs;
}

}  // namespace belfry
