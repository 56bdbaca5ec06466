// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/buffer.h"

#include <cstddef>

namespace belfry {

/// `elements` elements of a view, from element `begin` on. The view has them.
inline BufferView part_of(BufferView view, std::size_t begin, std::size_t elements) {
  view.offset += begin * size_of(view.dtype);
  view.count = elements;
  return view;
}

}  // namespace belfry
