// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/sim/observer.h"
#include "races/clock.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry::sim::races {

/// The source of the accesses of an item or a host agent, for reports.
struct AccessOrigin {
  Actor actor{};             ///< The host agent that read or submitted.
  std::int32_t stream = -1;  ///< Of the item; -1: none.
  std::string_view name{};   ///< Of the work.
  CallSite site{};
  const void* code = nullptr;  ///< As of Observation.
};

/// An access to bytes of a buffer, by an item of a stream or by a host agent.
struct BufferAccess {
  enum class Kind : std::uint8_t {
    kItem,  ///< By an item of a stream.
    kHost,  ///< By a host agent.
  };
  Kind kind = Kind::kItem;
  bool writes = false;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  Lane lane = 0;             ///< The place in the order: a lane,
  std::uint32_t number = 0;  ///< the number of the item or step there,
  std::uint32_t phase = 0;   ///< and the phase of the host agent.
  std::int32_t slot = 0;     ///< Of the host agent that read or submitted.
  const AccessOrigin* origin = nullptr;
};

/// Accesses to ranges of bytes, found by their bytes.
///
/// How the class works. Accesses lie in the order of the bit widths of their lengths, in a width by
/// their first bytes. All accesses of a width that have bytes of a range begin in the range, or at
/// most the greatest length of the width before the range: a search looks at these places of each
/// width. The place of a removed access serves the next access to the same bytes: programs use the
/// same ranges again and again.
class RangedAccesses {
 public:
  struct Entry {
    BufferAccess access{};
    std::uint64_t age = 0;  ///< Later accesses have greater numbers; 0: removed.
  };

  /// Calls `visit` with each entry that has bytes of `access`, and removes the entry if the result
  /// is true.
  template <class Visit>
  void visit_overlapping(const BufferAccess& access, const Visit& visit) {
    if (entries_.size() <= kFew) {
      for (Entry& entry : entries_) visit_one(entry, access, visit);
      return;
    }
    const int last_width = width_of(entries_.back().access);
    int width = 0;
    for (std::size_t at = 0; width < last_width; at = place(at, {width + 1, 0, 0})) {
      width = width_of(entries_[at].access);
      const std::uint64_t reach = width < 64 ? std::uint64_t{1} << width : UINT64_MAX;
      at = place(at, {width, access.begin - std::min(access.begin, reach), 0});
      for (; at < entries_.size(); ++at) {
        Entry& entry = entries_[at];
        if (entry.access.begin >= access.end || width_of(entry.access) != width) break;
        visit_one(entry, access, visit);
      }
    }
  }
  /// Removes the accesses for which `is_over` is true.
  template <class IsOver>
  void remove_if(const IsOver& is_over) {
    std::erase_if(entries_,
                  [&](const Entry& entry) { return entry.age == 0 || is_over(entry.access); });
    removed_ = 0;
  }
  /// `of_lane`: in place of the access of the same lane to the same bytes.
  void put(const BufferAccess& access, bool of_lane) {
    const Key key = key_of(access);
    std::size_t at = place(0, key);
    Entry* removed = nullptr;
    for (; at < entries_.size() && key_of(entries_[at].access) == key; ++at) {
      Entry& entry = entries_[at];
      if (entry.age == 0) {
        removed = &entry;
      } else if (of_lane && entry.access.lane == access.lane) {
        entry.access = access;
        return;
      }
    }
    if (removed != nullptr) {
      *removed = {access, ++age_};
      --removed_;
      return;
    }
    if (2 * removed_ > entries_.size()) {
      std::erase_if(entries_, [](const Entry& entry) { return entry.age == 0; });
      removed_ = 0;
      at = place(0, key);
    }
    entries_.insert(entries_.begin() + static_cast<std::ptrdiff_t>(at), {access, ++age_});
  }

 private:
  using Key = std::tuple<int, std::uint64_t, std::uint64_t>;

  static constexpr std::size_t kFew = 8;

  static int width_of(const BufferAccess& access) {
    return std::bit_width(access.end - access.begin);
  }
  static Key key_of(const BufferAccess& access) {
    return {width_of(access), access.begin, access.end};
  }
  // The first entry from `first` on that is not before `key`.
  std::size_t place(std::size_t first, const Key& key) const {
    const auto before = [](const Entry& entry, const Key& to) { return key_of(entry.access) < to; };
    const auto begin = entries_.begin() + static_cast<std::ptrdiff_t>(first);
    const auto found = std::lower_bound(begin, entries_.end(), key, before);
    return static_cast<std::size_t>(found - entries_.begin());
  }
  template <class Visit>
  void visit_one(Entry& entry, const BufferAccess& access, const Visit& visit) {
    const bool overlaps = entry.access.begin < access.end && access.begin < entry.access.end;
    if (entry.age == 0 || !overlaps || !visit(std::as_const(entry))) return;
    entry.age = 0;
    ++removed_;
  }

  std::vector<Entry> entries_;
  std::size_t removed_ = 0;  // Entries.
  std::uint64_t age_ = 0;
};

}  // namespace belfry::sim::races
