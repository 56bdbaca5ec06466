// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "conflict_list.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace belfry::sim::watch {

/// Memory of the program that devices use, too, and the accesses of host code to the memory.
class SharedMemory {
 public:
  struct Range {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
  };
  /// Accesses of a place to bytes beside each other.
  struct Touch {
    PlacedAccess access;
    Range range;
  };

  bool empty() const { return ranges_.empty(); }
  void clear() {
    ranges_.clear();
    touches_.clear();
  }
  void add(const Range& range) { ranges_.push_back(range); }
  bool has(const Range& range) const {
    return std::ranges::any_of(ranges_, [&](const Range& own) { return overlap(own, range); });
  }
  /// Keeps an access to `range`. A loop with a few accesses adds to a touch of each.
  void touch(const PlacedAccess& access, const Range& range) {
    const std::size_t newest = std::min(touches_.size(), kNewest);
    for (auto touch = touches_.end() - static_cast<std::ptrdiff_t>(newest); touch != touches_.end();
         ++touch) {
      if (extend(*touch, access, range)) return;
    }
    touches_.push_back({access, range});
  }
  std::vector<Touch> take() { return std::exchange(touches_, {}); }

 private:
  static constexpr std::size_t kNewest = 8;

  static bool overlap(const Range& a, const Range& b) { return a.begin < b.end && b.begin < a.end; }
  static bool extend(Touch& touch, const PlacedAccess& access, const Range& range) {
    const PlacedAccess& own = touch.access;
    if (own.place != access.place || own.write != access.write || own.actor != access.actor) {
      return false;
    }
    if (range.end < touch.range.begin || touch.range.end < range.begin) return false;
    touch.range.begin = std::min(touch.range.begin, range.begin);
    touch.range.end = std::max(touch.range.end, range.end);
    return true;
  }

  std::vector<Range> ranges_;
  std::vector<Touch> touches_;
};

}  // namespace belfry::sim::watch
