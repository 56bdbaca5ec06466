// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "call_tree.h"
#include "watch/host_watch.h"

#include <map>
#include <utility>
#include <vector>

namespace belfry::sim::watch {

/// An access as the run time remembers it.
struct PlacedAccess {
  Actor actor;
  bool write = false;
  Place place = CallTree::kRoot;
};

/// Pairs of accesses to the same bytes. Pairs of equal places and kinds are kept once; bytes next
/// to the bytes of the last such pair extend the pair.
class ConflictList {
 public:
  struct Pair {
    const std::byte* address;
    std::size_t bytes;
    PlacedAccess first;
    PlacedAccess second;
  };

  void add(const std::byte* address, const PlacedAccess& first, const PlacedAccess& second) {
    const auto key = std::pair(first.place * 2UL + (first.write ? 1 : 0),
                               second.place * 2UL + (second.write ? 1 : 0));
    const auto [found, is_new] = numbers_.emplace(key, pairs_.size());
    if (is_new) {
      pairs_.push_back({address, 1, first, second});
    } else if (Pair& pair = pairs_[found->second]; address == pair.address + pair.bytes) {
      ++pair.bytes;
    }
  }
  const std::vector<Pair>& pairs() const { return pairs_; }
  void clear() {
    pairs_.clear();
    numbers_.clear();
  }

 private:
  std::vector<Pair> pairs_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> numbers_;
};

}  // namespace belfry::sim::watch
