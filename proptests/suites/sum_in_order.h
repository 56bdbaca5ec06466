// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/addition_order.h"
#include "belfry/planned_all_reduce.h"
#include "belfry/reduction.h"

#include <cstddef>
#include <vector>

// The orders of SEM-32 and the trees of SEM-147, written from the rules and not from the library.
namespace belfry::testing {

/// A factor of a product: `+` multiplies, so that the orders of sums give products (SEM-253).
template <class W>
struct Factor {
  W value;

  Factor& operator+=(const Factor& right) {
    value *= right.value;
    return *this;
  }
  friend Factor operator+(Factor left, const Factor& right) { return left += right; }
};

/// The sum of `terms` in the order that `order` names; `chunk` is where a ring starts.
template <class W>
W sum_in_order(std::vector<W> terms, ReductionOrder order, std::size_t chunk) {
  const std::size_t count = terms.size();
  if (order == ReductionOrder::kTree) {
    // Neighbours are added until a single term is left. A term without a neighbour waits for the
    // next level.
    while (terms.size() > 1) {
      std::vector<W> level;
      for (std::size_t i = 0; i + 1 < terms.size(); i += 2)
        level.push_back(terms[i] + terms[i + 1]);
      if (terms.size() % 2 == 1) level.push_back(terms.back());
      terms = level;
    }
    return terms[0];
  }
  const std::size_t start = order == ReductionOrder::kRing ? chunk : 0;
  W sum = terms[start];
  for (std::size_t k = 1; k < count; ++k) sum += terms[(start + k) % count];
  return sum;
}

/// The sum of `terms` with the additions of a tree.
template <class W>
W sum_of_tree(const AdditionTree& tree, const std::vector<W>& terms) {
  if (tree.terms.empty()) return terms[static_cast<std::size_t>(tree.member)];
  return sum_of_tree(tree.terms[0], terms) + sum_of_tree(tree.terms[1], terms);
}

}  // namespace belfry::testing
