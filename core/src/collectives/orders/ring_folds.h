// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/addition_order.h"

#include <compare>
#include <cstddef>
#include <vector>

namespace belfry::orders {

/// A fold that goes once round a ring. Equal folds add in the same order.
struct RingFold {
  int hosts = 1;
  int turn = 0;  ///< Of the members of each host; 0 for one host.
  bool reversed = false;
  int first = 0;  ///< The place that starts.

  auto operator<=>(const RingFold&) const = default;
};

/// The members in the order of their additions.
std::vector<int> members_of(const RingFold& fold, int members);

/// Chunk c has the elements from c * length on; the last chunk has all of the rest.
struct RingCut {
  int chunks = 1;
  std::size_t length = 0;

  int chunk_of(std::size_t element) const;
  /// The element after the last element of the chunk.
  std::size_t end_of(int chunk, std::size_t elements) const;
};

RingCut cut(const RingOrder& ring, const ReducedTensor& tensor);
RingFold fold_of(const RingOrder& ring, int members, int chunk);

}  // namespace belfry::orders
