// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/element_ops.h"
#include "kernels/dispatch.h"
#include "kernels/families.h"
#include "kernels/folds.h"

#include <algorithm>
#include <cstddef>

namespace belfry::kernels {
namespace {

// Columns folded at once: their partial results stay in the first-level cache.
constexpr std::size_t kTile = 1024;

template <FoldOp op, class T>
void fold_columns(T* out, const T* in, std::size_t rows, std::size_t width, std::size_t stride) {
  using C = element::Compute<T>;
  C folded[kTile];
  for (std::size_t c = 0; c < width; ++c) folded[c] = element::load(in[c]);
  for (std::size_t r = 1; r < rows; ++r) {
    const T* row = in + r * stride;
    for (std::size_t c = 0; c < width; ++c) {
      folded[c] = element::apply<op>(folded[c], element::load(row[c]));
    }
  }
  for (std::size_t c = 0; c < width; ++c) {
    out[c] = element::store<T>(element::finish_fold(folded[c]));
  }
}

template <FoldOp op, class T>
void fold_matrix(const KernelCall& call) {
  auto* out = elements_of<T>(call.outputs[0]);
  const auto* in = elements_of<const T>(call.inputs[0]);
  const auto rows = static_cast<std::size_t>(call.parameters.rows);
  const auto columns = static_cast<std::size_t>(call.parameters.columns);
  if (rows == 0) {
    std::fill_n(out, columns,
                element::store<T>(element::fold_of_nothing<op, element::Compute<T>>()));
    return;
  }
  for (std::size_t first = 0; first < columns; first += kTile) {
    fold_columns<op>(out + first, in + first, rows, std::min(kTile, columns - first), columns);
  }
}

}  // namespace

void run_column_reduce(const KernelCall& call) {
  visit_fold(
      call, [&](auto tag, auto op) { fold_matrix<op.kValue, typename decltype(tag)::Type>(call); });
}

}  // namespace belfry::kernels
