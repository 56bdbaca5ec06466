// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/tensor.h"

#include <cstddef>
#include <utility>

namespace belfry::detail {

/// A tensor whose elements stay on a device of another process: type and shape are known here.
/// `place` is the device that the tensor would come to.
inline AnyTensor elsewhere(DType dtype, Shape shape, Placement place) {
  const auto count = static_cast<std::size_t>(shape.count());
  return AnyTensor(BufferView{nullptr, 0, count, dtype}, std::move(shape), place);
}

/// Whether `tensor` is made by `elsewhere`. A default-constructed tensor has no place.
inline bool is_elsewhere(const AnyTensor& tensor) {
  return tensor.empty() && tensor.placement().backend != nullptr;
}

}  // namespace belfry::detail
