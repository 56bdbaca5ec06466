// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "collectives/linked_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace belfry {
namespace {

using Links = std::vector<std::vector<int>>;

// Which replicas are linked; every replica is linked to itself.
class Linked {
 public:
  Linked(const Links& links, int replicas)
      : replicas_(static_cast<std::size_t>(replicas)), pairs_(replicas_ * replicas_, false) {
    for (std::size_t i = 0; i < replicas_; ++i) {
      pairs_[at(i, i)] = true;
      for (const int other : links[i]) {
        // Devices that the strategy does not use may have links too.
        if (other < 0 || other >= replicas) continue;
        pairs_[at(i, static_cast<std::size_t>(other))] = true;
      }
    }
  }

  bool are_symmetric() const {
    for (std::size_t i = 0; i < replicas_; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (pairs_[at(i, j)] != pairs_[at(j, i)]) return false;
      }
    }
    return true;
  }
  // Whether all replicas from `begin` to before `end` are linked to each other.
  bool among(std::size_t begin, std::size_t end) const {
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t j = begin; j < i; ++j) {
        if (!pairs_[at(i, j)]) return false;
      }
    }
    return true;
  }
  // The greatest size, below the number of replicas, of neighbouring groups with all links; or 0.
  std::size_t size_of_groups() const {
    if (among(0, replicas_)) return 0;
    for (std::size_t size = replicas_ / 2; size >= 2; --size) {
      if (replicas_ % size == 0 && are_groups(size)) return size;
    }
    return 0;
  }

 private:
  std::size_t at(std::size_t i, std::size_t j) const { return i * replicas_ + j; }
  bool are_groups(std::size_t size) const {
    for (std::size_t begin = 0; begin < replicas_; begin += size) {
      if (!among(begin, begin + size)) return false;
    }
    return true;
  }

  std::size_t replicas_;
  std::vector<bool> pairs_;
};

// The links of the backend between the devices of replicas, as links of the replicas.
Links links_of_backend(const ReplicaDevices& devices) {
  const Links& known = devices.backend().connections().links;
  Links links;
  if (known.empty()) return links;
  for (const int device : devices.indices()) {
    std::vector<int>& linked = links.emplace_back();
    // The host may be the device of a replica, and has no list.
    if (static_cast<std::size_t>(device) >= known.size()) continue;
    const std::vector<int>& others = known[static_cast<std::size_t>(device)];
    for (int replica = 0; replica < devices.size(); ++replica) {
      if (std::ranges::find(others, devices.index(replica)) != others.end()) {
        linked.push_back(replica);
      }
    }
  }
  return links;
}

LinkedGroups groups_of(const Links& links, int replicas) {
  if (links.empty()) return {};
  if (links.size() != static_cast<std::size_t>(replicas)) {
    return {0, fmt::format("links of {} replicas were given for {} replicas, and are left out",
                           links.size(), replicas)};
  }
  const Linked linked(links, replicas);
  if (!linked.are_symmetric()) return {0, "the links are not symmetric, and are left out"};
  return {static_cast<int>(linked.size_of_groups()), ""};
}

}  // namespace

LinkedGroups linked_groups(const ReplicaDevices& devices, const Links& links) {
  return groups_of(links.empty() ? links_of_backend(devices) : links, devices.size());
}

}  // namespace belfry
