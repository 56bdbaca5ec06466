// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace belfry::bench {

/// Loops that move the bytes of a reduction and compute no sum: lower limits of the time. Each loop
/// takes one buffer after another, in vectors of the same width as the reduction.
struct ByteMoves {
  std::vector<std::byte*> in;
  std::vector<std::byte*> out;
  std::size_t bytes = 0;  ///< Size of each buffer; a multiple of 128.

  /// Copies each input to its output with vector loads and stores.
  void copy() const;
  /// Copies each input to its output with stores that bypass the caches.
  void stream() const;
  /// Copies each input to its output with memcpy.
  void memcpy_all() const;
  /// Multiplies each input, as floats, in place.
  void scale() const;
  /// Loads every input, with prefetches. Returns a sum, because the compiler would delete loads
  /// without a use.
  std::uint64_t read() const;
};

}  // namespace belfry::bench
