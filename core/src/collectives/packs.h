// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/cross_device_ops.h"
#include "belfry/dtype.h"

#include <cstddef>
#include <span>
#include <vector>

namespace belfry {

/// A tensor to be packed.
struct PackItem {
  std::size_t elements = 0;       ///< The number of elements.
  DType dtype = DType::kFloat32;  ///< The element type.

  std::size_t bytes() const { return elements * size_of(dtype); }  ///< The size.
  bool operator==(const PackItem&) const = default;
};

/// The indices of items of one element type that are reduced as one tensor: at least 1, ascending.
using Pack = std::vector<std::size_t>;

/// The packs of items, from the last item to the first: gradients of last layers are ready first. A
/// pack takes items until the pack has more than `bytes_per_pack` bytes. An item with more bytes
/// than one of the bounds has a pack of its own; no pack of several items has more than twice
/// `bytes_per_pack`. Items without elements are in no pack. Packs are in the order in which their
/// last item is reached. The bounds are those of `in_packs`, at least 0.
std::vector<Pack> packs_of(std::span<const PackItem> items, const PackOptions& bounds);

}  // namespace belfry
