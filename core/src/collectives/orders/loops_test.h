// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/addition_order.h"
#include "belfry/planned_all_reduce.h"
#include "collectives/orders/reductions_test.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>
#include <vector>

// The second implementation of named orders: loops over values instead of trees.
namespace belfry::testing {

/// The ring of belfry with this order.
inline RingOptions options_of(const RingOrder& ring, int members) {
  const int replicas = members / ring.hosts;
  std::vector<int> permutation;
  for (int place = 0; place < replicas; ++place) {
    const int turned = (place + ring.rotation) % replicas;
    permutation.push_back(ring.reversed ? replicas - 1 - turned : turned);
  }
  return {.hosts = ring.hosts,
          .permutation = permutation,
          .subchunks = ring.subchunks,
          .start = ring.start};
}

/// The sums of an element.
template <class T>
class Loops {
 public:
  explicit Loops(SumRounding rounding) : rounds_(rounding == SumRounding::kEachAddition) {}

  T result(const NamedOrder& order, std::vector<float> x, std::size_t element,
           std::size_t elements) const {
    const auto root = static_cast<std::size_t>(order.root);
    const auto at_root = x.begin() + order.root;
    switch (order.kind) {
      case OrderKind::kReplicaOrder:
        break;
      case OrderKind::kTree:
        std::rotate(x.begin(), at_root, x.end());
        return T(pairwise(x));
      case OrderKind::kHalvingDoubling:
        return T(halving(x));
      case OrderKind::kRing:
        x = round_the_ring(order.ring, x, element, elements);
        break;
      case OrderKind::kGroups:
        for (const int size : order.levels) x = groups(x, static_cast<std::size_t>(size));
        break;
      case OrderKind::kRootFirst:
        std::rotate(x.begin(), at_root, at_root + 1);
        break;
      case OrderKind::kGroupsOfEight:
        std::swap(x[0], x[root]);
        return T(eights(x));
    }
    return T(sum(x));
  }

 private:
  float add(float a, float b) const { return rounds_ ? static_cast<float>(T(a + b)) : a + b; }
  float sum(const std::vector<float>& x) const {
    float total = x[0];
    for (std::size_t i = 1; i < x.size(); ++i) total = add(total, x[i]);
    return total;
  }
  float pairwise(std::vector<float> x) const {
    for (std::size_t step = 1; step < x.size(); step *= 2) {
      for (std::size_t i = 0; i + step < x.size(); i += 2 * step) x[i] = add(x[i], x[i + step]);
    }
    return x[0];
  }
  float halving(const std::vector<float>& x) const {
    const std::size_t pairs = x.size() - std::bit_floor(x.size());
    std::vector<float> left;
    for (std::size_t i = 0; i < 2 * pairs; i += 2) left.push_back(add(x[i], x[i + 1]));
    left.insert(left.end(), x.begin() + static_cast<std::ptrdiff_t>(2 * pairs), x.end());
    return pairwise(left);
  }
  std::vector<float> groups(const std::vector<float>& x, std::size_t size) const {
    std::vector<float> sums;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (i % size == 0) {
        sums.push_back(x[i]);
      } else {
        sums.back() = add(sums.back(), x[i]);
      }
    }
    return sums;
  }
  float eights(const std::vector<float>& x) const {
    std::size_t first = x.size() % 8 == 0 ? 8 : x.size() % 8;
    if (first == 1 && x.size() > 1) first = 9;
    float total = x[0];
    for (std::size_t i = 1; i < first; ++i) total = add(total, x[i]);
    for (std::size_t i = first; i < x.size(); i += 8) {
      float group = x[i];
      for (std::size_t j = i + 1; j < i + 8; ++j) group = add(group, x[j]);
      total = add(total, group);
    }
    return total;
  }
  static std::size_t length_of_chunk(const RingOrder& ring, std::size_t members,
                                     std::size_t elements) {
    const auto up = [&](std::size_t parts) { return (elements + parts - 1) / parts; };
    if (ring.count > 0) return up(static_cast<std::size_t>(ring.count));
    if (ring.chunks == RingChunks::kRemainderLast) return elements / members;
    if (ring.chunks == RingChunks::kRoundedUp) {
      return up(members * static_cast<std::size_t>(ring.subchunks));
    }
    return 64 * (sizeof(T) * up(members) / 64 + 1) / sizeof(T);
  }
  static std::vector<float> round_the_ring(const RingOrder& ring, const std::vector<float>& x,
                                           std::size_t element, std::size_t elements) {
    const std::size_t members = x.size();
    const std::size_t length = length_of_chunk(ring, members, elements);
    std::size_t chunk = 0;
    // The remainder belongs to the last chunk.
    while (element >= (chunk + 1) * length && chunk + 1 < members * 100) {
      if (ring.chunks == RingChunks::kRemainderLast && chunk + 1 == members) break;
      ++chunk;
    }
    const auto subchunks = static_cast<std::size_t>(ring.subchunks);
    const auto rings =
        RingAllReduce(options_of(ring, static_cast<int>(members))).rings(static_cast<int>(members));
    const std::vector<int>& members_in_order = rings[chunk % subchunks];
    std::vector<float> terms;
    for (std::size_t step = 0; step < members; ++step) {
      const std::size_t place = chunk / subchunks + static_cast<std::size_t>(ring.start) + step;
      terms.push_back(x[static_cast<std::size_t>(members_in_order[place % members])]);
    }
    return terms;
  }

  bool rounds_;
};

template <class T>
std::vector<T> sums_by_loops(const NamedOrder& order, const Table<T>& inputs) {
  const Loops<T> loops(order.rounding);
  std::vector<T> sums;
  for (std::size_t i = 0; i < inputs.front().size(); ++i) {
    std::vector<float> x;
    for (const auto& row : inputs) x.push_back(static_cast<float>(row[i]));
    sums.push_back(loops.result(order, x, i, inputs.front().size()));
  }
  return sums;
}

}  // namespace belfry::testing
