// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/reduce_op.h"

#include <cstddef>

namespace belfry::kernels {

inline constexpr std::size_t kLineBytes = 64;  ///< Of a cache.

/// The last step of a sum, and the way of storing the result.
struct ReduceEnd {
  std::size_t divisor = 0;  ///< MEAN's; 0: none.
  std::size_t ahead = 0;    ///< How far ahead inputs are fetched, in bytes; not by `fused`.
  bool stream = false;  ///< Outputs begin at multiples of 64 bytes, and stores pass the caches by.
};

/// The loops of a reduction for an element type and a width of vectors. A *pack* is the unit of
/// work; `tile` holds the sums of packs, in a form that only these functions know.
template <class T>
struct ReduceLoops {
  /// For as many outputs as inputs: reduces whole steps of elements from `first` on. Returns the
  /// end of the last whole step before `last`.
  using Fused = std::size_t (*)(const T* const* in, T* const* out, std::size_t first,
                                std::size_t last, ReduceEnd end);
  /// The loop for an order except ring order, and a number of inputs; null without a loop.
  Fused (*fused)(ReductionOrder order, std::size_t inputs);
  /// The same if each output is the same view as its input.
  Fused (*fused_in_place)(ReductionOrder order, std::size_t inputs);
  /// The same for operands larger than a cache: prefetches inputs.
  Fused (*fused_far)(ReductionOrder order, std::size_t inputs);
  Fused (*fused_in_place_far)(ReductionOrder order, std::size_t inputs);
  /// Fetches ahead as well, and streams.
  Fused (*fused_stream)(ReductionOrder order, std::size_t inputs);

  std::size_t pack_elements;
  std::size_t pack_bytes;  ///< Of a tile.
  /// Sums of `group` (1 to 8) inputs: a left fold, beginning with the tile's sums if `more`, or
  /// a tree.
  void (*fold_group)(std::byte* tile, const T* const* in, std::size_t group, std::size_t first,
                     std::size_t packs, bool more);
  void (*tree_group)(std::byte* tile, const T* const* in, std::size_t group, std::size_t first,
                     std::size_t packs);
  /// tile += right.
  void (*add_tile)(std::byte* tile, const std::byte* right, std::size_t packs);
  void (*finish_tile)(T* out, const std::byte* tile, std::size_t packs, ReduceEnd end);
};

/// With vectors that every processor of the architecture has.
template <class T>
ReduceLoops<T> baseline_loops();

/// With wider vectors; requires `has_wide_vectors`.
template <class T>
ReduceLoops<T> wide_loops();
bool has_wide_vectors();

}  // namespace belfry::kernels
