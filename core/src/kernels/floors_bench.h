// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace belfry::bench {

/// What moving the bytes of a reduction costs without computing anything, buffer by buffer, with
/// the same vectors as the reduction's.
struct Floors {
  std::vector<std::byte*> in;
  std::vector<std::byte*> out;
  std::size_t bytes = 0;  ///< Of each; a multiple of 128.

  /// Each input to its output: vectors loaded and stored.
  void copy() const;
  /// The same with stores that pass the caches by.
  void stream() const;
  /// The same as the C library does it.
  void memcpy_all() const;
  /// Multiplies each input, as floats, in place.
  void scale() const;
  /// Loads every input, fetching ahead. A sum of it all, so that nothing is left out.
  std::uint64_t read() const;
};

}  // namespace belfry::bench
