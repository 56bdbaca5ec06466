// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/dtype.h"

namespace belfry {

/// The type of partial sums: float for 16-bit floats, which are rounded once (SEM-33), else the
/// type of the elements.
constexpr DType sum_type(DType dtype) {
  return is_floating(dtype) && size_of(dtype) == 2 ? DType::kFloat32 : dtype;
}

}  // namespace belfry
