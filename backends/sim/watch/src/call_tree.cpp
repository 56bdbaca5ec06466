// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "call_tree.h"

namespace belfry::sim::watch {

Place CallTree::find(Place parent, std::uint32_t code, Maker maker) {
  Known& known = this->known(parent, code, maker);
  if (known.is(parent, code, maker)) return known.place;
  const Place found = search(parent, code, maker);
  if (found != kRoot) known = {parent, code, maker, found};
  return found;
}

Place CallTree::search(Place parent, std::uint32_t code, Maker maker) {
  Place before = 0;
  for (Place at = nodes_[parent].first_child; at != 0; before = at, at = nodes_[at].next) {
    if (nodes_[at].code != code || nodes_[at].maker != maker) continue;
    if (before != 0) {
      // A place in use is likely to be used again: the first child is found first.
      nodes_[before].next = nodes_[at].next;
      nodes_[at].next = nodes_[parent].first_child;
      nodes_[parent].first_child = at;
    }
    return at;
  }
  return kRoot;
}

Place CallTree::find_or_make(Place parent, std::uint32_t code, Maker maker) {
  if (const Place known = find(parent, code, maker); known != kRoot) return known;
  const auto fresh = static_cast<Place>(nodes_.size());
  nodes_.push_back({code, maker, parent, 0, nodes_[parent].first_child});
  nodes_[parent].first_child = fresh;
  return fresh;
}

}  // namespace belfry::sim::watch
