// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/view_fault.h"

#include <fmt/format.h>

#include <bit>

namespace belfry::kernels {

std::optional<ViewFault> fault_of(const BufferView& view) {
  if (view.buffer == nullptr) return ViewFault{ErrorCode::kInvalidArgument, "has no buffer"};
  // A power of two: masks and shifts are many times as fast as divisions.
  const std::size_t element = size_of(view.dtype);
  if ((view.offset & (element - 1)) != 0) {
    return ViewFault{ErrorCode::kInvalidArgument,
                     fmt::format("starts at byte {}, which is not a multiple of the {} bytes of {}",
                                 view.offset, element, to_string(view.dtype))};
  }
  const std::size_t bytes = view.buffer->bytes();
  if (view.offset > bytes || view.count > (bytes - view.offset) >> std::countr_zero(element)) {
    return ViewFault{ErrorCode::kOutOfBounds,
                     fmt::format("is {} elements of {} from byte {} of a buffer of {} bytes",
                                 view.count, to_string(view.dtype), view.offset, bytes)};
  }
  return std::nullopt;
}

}  // namespace belfry::kernels
