// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/element_ops.h"
#include "kernels/dispatch.h"

#include <cstddef>

namespace belfry::kernels {

template <auto op, class Out, class T>
void combine_equal(Out* out, const T* left, const T* right, std::size_t count) {
  BELFRY_INDEPENDENT_ITERATIONS
  for (std::size_t i = 0; i < count; ++i) {
    out[i] =
        element::store<Out>(element::apply<op>(element::load(left[i]), element::load(right[i])));
  }
}

template <auto op, class Out, class T>
void combine_scalar(Out* out, const T* left, T right, std::size_t count) {
  const element::Compute<T> operand = element::load(right);
  BELFRY_INDEPENDENT_ITERATIONS
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = element::store<Out>(element::apply<op>(element::load(left[i]), operand));
  }
}

/// Out[i] = left[i] op right[broadcast(i)].
template <auto op, class Out, class T>
void combine(const KernelCall& call) {
  auto* out = elements_of<Out>(call.outputs[0]);
  const auto* left = elements_of<const T>(call.inputs[0]);
  const auto* right = elements_of<const T>(call.inputs[1]);
  const std::size_t count = call.outputs[0].count;
  const auto rows = static_cast<std::size_t>(call.parameters.rows);
  const auto columns = static_cast<std::size_t>(call.parameters.columns);
  switch (call.parameters.broadcast) {
    case Broadcast::kNone:
      return combine_equal<op>(out, left, right, count);
    case Broadcast::kScalar:
      if (count > 0) combine_scalar<op>(out, left, right[0], count);
      return;
    case Broadcast::kRow:
      for (std::size_t row = 0; row < rows; ++row) {
        combine_equal<op>(out + row * columns, left + row * columns, right, columns);
      }
      return;
    case Broadcast::kColumn:
      for (std::size_t row = 0; row < rows; ++row) {
        combine_scalar<op>(out + row * columns, left + row * columns, right[row], columns);
      }
      return;
  }
}

}  // namespace belfry::kernels
