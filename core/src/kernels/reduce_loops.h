// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/reduce_op.h"

#include <cstddef>

namespace belfry::kernels {

inline constexpr std::size_t kLineBytes = 64;  ///< Of a cache.

/// What ends a sum, and how it is stored.
struct ReduceEnd {
  std::size_t divisor = 0;  ///< MEAN's; 0: none.
  std::size_t ahead = 0;    ///< How far ahead inputs are fetched, in bytes; not by `fused`.
  bool stream = false;  ///< Outputs begin at multiples of 64 bytes, and stores pass the caches by.
};

/// The loops of a reduction for one element type and one width of vectors. A *pack* is what is
/// worked on at once; `tile` holds the sums of packs, in a form that only these functions know.
template <class T>
struct ReduceLoops {
  /// As many outputs as inputs: works on whole steps of elements from `first`, and returns where
  /// it stopped before `last`.
  using Fused = std::size_t (*)(const T* const* in, T* const* out, std::size_t first,
                                std::size_t last, ReduceEnd end);
  /// For this order, which is not a ring's, and number of inputs; null where there is none.
  Fused (*fused)(ReductionOrder order, std::size_t inputs);
  /// The same where each output is where its input is.
  Fused (*fused_in_place)(ReductionOrder order, std::size_t inputs);
  /// The same for operands that do not fit into a cache: fetches inputs ahead.
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

/// With vectors that every processor of this architecture has.
template <class T>
ReduceLoops<T> baseline_loops();

/// With wider ones, where `has_wide_vectors`.
template <class T>
ReduceLoops<T> wide_loops();
bool has_wide_vectors();

}  // namespace belfry::kernels
