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

// A fold is a chain of dependent operations: several rows side by side keep the processor busy.
constexpr std::size_t kRowsAtOnce = 8;

template <FoldOp op, class T, std::size_t kRows>
void fold_rows(T* out, const T* in, std::size_t columns) {
  element::Compute<T> folded[kRows];
  for (std::size_t r = 0; r < kRows; ++r) folded[r] = element::load(in[r * columns]);
  for (std::size_t c = 1; c < columns; ++c) {
    for (std::size_t r = 0; r < kRows; ++r) {
      folded[r] = element::apply<op>(folded[r], element::load(in[r * columns + c]));
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    out[r] = element::store<T>(element::finish_fold(folded[r]));
  }
}

template <FoldOp op, class T>
void fold_matrix(const KernelCall& call) {
  auto* out = elements_of<T>(call.outputs[0]);
  const auto* in = elements_of<const T>(call.inputs[0]);
  const auto rows = static_cast<std::size_t>(call.parameters.rows);
  const auto columns = static_cast<std::size_t>(call.parameters.columns);
  if (columns == 0) {
    std::fill_n(out, rows, element::store<T>(element::fold_of_nothing<op, element::Compute<T>>()));
    return;
  }
  std::size_t row = 0;
  for (; row + kRowsAtOnce <= rows; row += kRowsAtOnce) {
    fold_rows<op, T, kRowsAtOnce>(out + row, in + row * columns, columns);
  }
  for (; row < rows; ++row) fold_rows<op, T, 1>(out + row, in + row * columns, columns);
}

}  // namespace

void run_row_reduce(const KernelCall& call) {
  visit_fold(
      call, [&](auto tag, auto op) { fold_matrix<op.kValue, typename decltype(tag)::Type>(call); });
}

}  // namespace belfry::kernels
