// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "conflict_list.h"
#include "shadow.h"

#include <map>
#include <set>

namespace belfry::sim::watch {

/// Reads, by a merge, of bytes that a single replica wrote since the last merge. A place that reads
/// such bytes of every replica, as a loop over slots does, is no captured value.
class MergeReads {
 public:
  void add(const std::byte* address, Agent writer, const PlacedAccess& write,
           const PlacedAccess& read) {
    ReadPlace& place = places_[read.place];
    place.writers.insert(writer);
    place.pairs.add(address, write, read);
  }
  /// Ends a merge of `replicas` replicas.
  void end_merge(std::size_t replicas) {
    for (const auto& [read, place] : places_) {
      if (place.writers.size() == replicas) continue;
      for (const ConflictList::Pair& pair : place.pairs.pairs()) notes_.push_back(pair);
    }
    places_.clear();
  }
  bool empty() const { return places_.empty(); }
  const std::vector<ConflictList::Pair>& notes() const { return notes_; }
  void clear() {
    places_.clear();
    notes_.clear();
  }

 private:
  struct ReadPlace {
    std::set<Agent> writers;
    ConflictList pairs;
  };
  std::map<Place, ReadPlace> places_;
  std::vector<ConflictList::Pair> notes_;
};

}  // namespace belfry::sim::watch
