// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/kernel.h"

#include <compare>
#include <cstddef>
#include <optional>

namespace belfry::kernels {

/// An output, and an operand that shares bytes with the output.
struct Overlap {
  std::size_t output = 0;
  bool with_input = false;  ///< False: with a second output.
  std::size_t other = 0;

  auto operator<=>(const Overlap&) const = default;
};

/// Whether both have a byte in common. The addresses decide for two buffers, if both have
/// addresses.
bool share_memory(const BufferView& a, const BufferView& b);

/// The same for buffers that are not foreign, quickly: two of these have no common memory.
inline bool share_bytes(const BufferView& a, const BufferView& b) {
  return a.buffer == b.buffer && a.count > 0 && b.count > 0 && a.offset < b.offset + b.bytes() &&
         b.offset < a.offset + a.bytes();
}

/// Whether both are the same elements of the same bytes.
bool same_view(const BufferView& a, const BufferView& b);

/// The first forbidden overlap of a kernel. `in_place`: an output may be the same view as an input.
std::optional<Overlap> find_overlap(const Kernel& kernel, bool in_place);

}  // namespace belfry::kernels
