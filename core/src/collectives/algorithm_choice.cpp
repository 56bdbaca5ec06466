// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/algorithm_choice.h"

#include "belfry/packed_all_reduce.h"
#include "belfry/planned_all_reduce.h"
#include "collectives/neighbour_groups.h"

#include <fmt/format.h>

#include <cstddef>
#include <utility>

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

// The size of the groups that the links make, or 0; a warning if the links cannot be used.
int size_of_groups(const Links& links, int replicas, std::string& warning) {
  if (links.empty()) return 0;
  if (links.size() != static_cast<std::size_t>(replicas)) {
    warning = fmt::format("links of {} replicas were given for {} replicas, and are left out",
                          links.size(), replicas);
    return 0;
  }
  const Linked linked(links, replicas);
  if (!linked.are_symmetric()) {
    warning = "the links are not symmetric, and are left out";
    return 0;
  }
  return static_cast<int>(linked.size_of_groups());
}

}  // namespace

std::string to_string(const AlgorithmChoice& choice) {
  return choice.warning.empty() ? choice.reason : choice.reason + "; warning: " + choice.warning;
}

AlgorithmChoice choose_the_best(ReplicaDevices& devices, const Links& links) {
  const int replicas = devices.size();
  if (replicas == 1) {
    return {std::make_shared<ReductionToOneDevice>(),
            "tensors are reduced to one device, because there is one replica", ""};
  }
  std::string warning;
  if (const int size = size_of_groups(links, replicas, warning); size != 0) {
    // Every element is added in the same order, so that packs keep the bits.
    auto hierarchical = std::make_shared<HierarchicalAllReduce>(neighbour_groups(replicas, size));
    return {std::make_shared<PackedAllReduce>(std::move(hierarchical)),
            fmt::format("tensors are reduced by the hierarchical algorithm, because the links make "
                        "groups of {} replicas; small tensors are packed",
                        size),
            ""};
  }
  if (devices.communicator() != nullptr) {
    return {std::make_shared<NativeAllReduce>(),
            "tensors are reduced by the native algorithm, because the backend has a communicator "
            "among the devices",
            std::move(warning)};
  }
  return {std::make_shared<ReductionToOneDevice>(),
          "tensors are reduced to one device, because the backend has no communicator among the "
          "devices",
          warning.empty() ? "the first device receives every tensor of every replica" : warning};
}

}  // namespace belfry
