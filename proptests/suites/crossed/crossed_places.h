// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "suites/crossed/crossed_case.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

// The second implementation of packs (SEM-146, SEM-149): lists of elements, without plans of the
// library.
namespace belfry::testing::crossed {

/// A leaf of the nest that each replica brings.
struct Leaf {
  std::size_t length = 0;
  bool is_tensor = false;
  bool is_double = false;  ///< The tensor of doubles among the tensors of the element type.
};

/// The place of an element in the memory that an algorithm reduces: a leaf or a pack.
struct Place {
  std::size_t index = 0;
  std::size_t length = 0;  ///< Of the memory, in elements.
};

/// The places of all elements, leaf by leaf.
using Places = std::vector<std::vector<Place>>;

/// SEM-149: neighbouring tensors of one element type are reduced in one call.
inline std::vector<std::vector<std::size_t>> tensors_of_calls(const std::vector<Leaf>& leaves,
                                                              bool doubles_are_elements) {
  std::vector<std::vector<std::size_t>> calls;
  for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    if (!leaves[leaf].is_tensor) continue;
    const bool is_next_type = !calls.empty() && !doubles_are_elements &&
                              leaves[calls.back().back()].is_double != leaves[leaf].is_double;
    if (calls.empty() || is_next_type) calls.emplace_back();
    calls.back().push_back(leaf);
  }
  return calls;
}

/// The packs of the tensors of one call, each with its elements (SEM-149).
class Packs {
 public:
  struct Element {
    std::size_t leaf = 0;
    std::size_t index = 0;
  };
  using Pack = std::vector<Element>;

  Packs(const Case& drawn, const std::vector<Leaf>& leaves, std::vector<std::size_t> call,
        std::size_t element_bytes)
      : drawn_(drawn), leaves_(leaves), call_(std::move(call)), element_bytes_(element_bytes) {
    std::erase_if(call_, [&](std::size_t leaf) { return leaves_[leaf].length == 0; });
    if (drawn.packed) {
      pack();
    } else {
      for (const std::size_t leaf : call_) packs_.push_back(elements_of({leaf}));
    }
  }

  void put_into(Places& places) const {
    for (const Pack& pack : packs_) {
      for (std::size_t i = 0; i < pack.size(); ++i) {
        places[pack[i].leaf][pack[i].index] = {i, pack.size()};
      }
    }
  }

 private:
  std::size_t bytes_of(std::size_t leaf) const { return leaves_[leaf].length * element_bytes_; }
  Pack elements_of(const std::vector<std::size_t>& leaves) const {
    Pack pack;
    for (const std::size_t leaf : leaves) {
      for (std::size_t i = 0; i < leaves_[leaf].length; ++i) pack.push_back({leaf, i});
    }
    return pack;
  }
  // A bound of 0 is none.
  static bool exceeds(std::size_t bytes, int bound) {
    return bound != 0 && bytes > static_cast<std::size_t>(bound);
  }
  void pack() {
    std::vector<std::size_t> open;
    std::size_t bytes = 0;
    for (auto leaf = call_.rbegin(); leaf != call_.rend(); ++leaf) {
      if (exceeds(bytes_of(*leaf), drawn_.limit) || exceeds(bytes_of(*leaf), drawn_.largest)) {
        packs_.push_back(elements_of({*leaf}));
        continue;
      }
      open.insert(open.begin(), *leaf);
      bytes += bytes_of(*leaf);
      if (!exceeds(bytes, drawn_.limit)) continue;
      packs_.push_back(elements_of(open));
      open.clear();
      bytes = 0;
    }
    packs_.push_back(elements_of(open));
  }

  const Case& drawn_;
  const std::vector<Leaf>& leaves_;
  std::vector<std::size_t> call_;  // Leaves with elements.
  std::size_t element_bytes_;
  std::vector<Pack> packs_;
};

/// The places of all elements. Leaves in host memory are never packed.
inline Places places_of(const Case& drawn, const std::vector<Leaf>& leaves,
                        std::size_t element_bytes, bool doubles_are_elements) {
  Places places;
  for (const Leaf& leaf : leaves) {
    places.emplace_back();
    for (std::size_t i = 0; i < leaf.length; ++i) places.back().push_back({i, leaf.length});
  }
  for (const auto& call : tensors_of_calls(leaves, doubles_are_elements)) {
    const std::size_t bytes = leaves[call.front()].is_double ? sizeof(double) : element_bytes;
    Packs(drawn, leaves, call, bytes).put_into(places);
  }
  return places;
}

}  // namespace belfry::testing::crossed
