// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/element_ops.h"
#include "belfry/backend/host_kernels.h"
#include "kernels/dispatch.h"
#include "kernels/families.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

namespace belfry::kernels {
namespace {

struct Rows {
  std::size_t count = 0;  ///< Of the table.
  std::size_t columns = 0;

  template <class Index>
  bool has(Index row) const {
    return row >= 0 && static_cast<std::uint64_t>(row) < count;
  }
};

Rows rows_of(const KernelOperand& table, const KernelParameters& parameters) {
  const auto columns = static_cast<std::size_t>(parameters.columns);
  // A table without columns has any number of rows.
  return {columns == 0 ? ~std::size_t{0} : table.count / columns, columns};
}

template <class Index>
void gather(const KernelCall& call) {
  const auto* index = elements_of<const Index>(call.inputs[0]);
  const Rows rows = rows_of(call.inputs[1], call.parameters);
  const std::size_t bytes = rows.columns * size_of(call.outputs[0].dtype);
  if (bytes == 0) return;
  const auto* table = elements_of<const std::byte>(call.inputs[1]);
  auto* out = elements_of<std::byte>(call.outputs[0]);
  for (std::size_t i = 0; i < call.inputs[0].count; ++i, out += bytes) {
    if (rows.has(index[i])) {
      std::memcpy(out, table + static_cast<std::size_t>(index[i]) * bytes, bytes);
    } else {
      std::memset(out, 0, bytes);
    }
  }
}

// Combines a row of the table, in the type of computations, with a row of the input.
template <class C, class T>
using RowFunction = void (*)(C* table, const T* row, std::size_t columns);

template <ScatterOp op, class C, class T>
void meet(C* table, const T* row, std::size_t columns) {
  BELFRY_INDEPENDENT_ITERATIONS
  for (std::size_t c = 0; c < columns; ++c) {
    table[c] = element::apply<op>(table[c], static_cast<C>(row[c]));
  }
}

// Signed integers have no functions for operations that ignore the sign: unsigned integers come in
// their place.
template <class C, class T>
RowFunction<C, T> row_function(ScatterOp op) {
  constexpr bool kIsUnsigned = element::unsigned_of(dtype_of<T>()) == dtype_of<T>();
  RowFunction<C, T> function = nullptr;
  visit_enum<ScatterOp::kMaximum>(op, [&](auto constant) {
    constexpr ScatterOp kOp = decltype(constant)::kValue;
    if constexpr (kIsUnsigned || !element::ignores_sign(kOp)) function = &meet<kOp, C, T>;
  });
  return function;
}

// Copies bits: the same function for all types of a size.
template <class Index>
void scatter_bytes(const KernelCall& call) {
  const auto* index = elements_of<const Index>(call.inputs[0]);
  const Rows rows = rows_of(call.outputs[0], call.parameters);
  const std::size_t bytes = rows.columns * size_of(call.outputs[0].dtype);
  if (bytes == 0) return;
  const auto* in = elements_of<const std::byte>(call.inputs[1]);
  auto* table = elements_of<std::byte>(call.outputs[0]);
  for (std::size_t i = 0; i < call.inputs[0].count; ++i, in += bytes) {
    if (rows.has(index[i])) {
      std::memcpy(table + static_cast<std::size_t>(index[i]) * bytes, in, bytes);
    }
  }
}

template <class T, class Index>
void scatter(const KernelCall& call) {
  const auto* index = elements_of<const Index>(call.inputs[0]);
  const auto* in = elements_of<const T>(call.inputs[1]);
  auto* table = elements_of<T>(call.outputs[0]);
  const Rows rows = rows_of(call.outputs[0], call.parameters);
  const auto meet = row_function<T, T>(call.parameters.scatter);
  for (std::size_t i = 0; i < call.inputs[0].count; ++i) {
    if (!rows.has(index[i])) continue;
    meet(table + static_cast<std::size_t>(index[i]) * rows.columns, in + i * rows.columns,
         rows.columns);
  }
}

// Goes through the rows of the table, because each row is rounded after all its input rows have
// been combined.
template <class T, class Index>
void scatter_rounding_once(const KernelCall& call) {
  const auto* index = elements_of<const Index>(call.inputs[0]);
  const auto* in = elements_of<const T>(call.inputs[1]);
  const Rows rows = rows_of(call.outputs[0], call.parameters);
  const auto meet = row_function<float, T>(call.parameters.scatter);
  std::vector<std::size_t> order(call.inputs[0].count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return index[a] < index[b] || (index[a] == index[b] && a < b);
  });
  std::vector<float> wide(rows.columns);
  for (std::size_t first = 0, last = 0; first < order.size(); first = last) {
    const Index row = index[order[first]];
    while (last < order.size() && index[order[last]] == row) ++last;
    if (!rows.has(row)) continue;
    T* to = elements_of<T>(call.outputs[0]) + static_cast<std::size_t>(row) * rows.columns;
    for (std::size_t c = 0; c < rows.columns; ++c) wide[c] = to[c];
    for (std::size_t k = first; k < last; ++k) {
      meet(wide.data(), in + order[k] * rows.columns, rows.columns);
    }
    for (std::size_t c = 0; c < rows.columns; ++c) to[c] = T(wide[c]);
  }
}

}  // namespace

void run_gather_rows(const KernelCall& call) {
  visit_type(IndexTypes{}, call.inputs[0].dtype,
             [&](auto index) { gather<typename decltype(index)::Type>(call); });
}

void run_scatter_rows(const KernelCall& call) {
  visit_type(IndexTypes{}, call.inputs[0].dtype, [&](auto index) {
    using Index = typename decltype(index)::Type;
    const ScatterOp op = call.parameters.scatter;
    const DType dtype = call.outputs[0].dtype;
    if (op == ScatterOp::kSet) return scatter_bytes<Index>(call);
    const DType carrier = element::ignores_sign(op) ? element::unsigned_of(dtype) : dtype;
    visit_type(NumericTypes{}, carrier, [&](auto tag) {
      using T = typename decltype(tag)::Type;
      if constexpr (element::kIs16BitFloat<T>) {
        scatter_rounding_once<T, Index>(call);
      } else {
        scatter<T, Index>(call);
      }
    });
  });
}

}  // namespace belfry::kernels

namespace belfry {

std::int64_t first_bad_index(const KernelCall& call) {
  const bool gathers = call.kind == KernelKind::kGatherRows;
  if (!gathers && call.kind != KernelKind::kScatterRows) return -1;
  const kernels::Rows rows =
      kernels::rows_of(gathers ? call.inputs[1] : call.outputs[0], call.parameters);
  std::int64_t found = -1;
  kernels::visit_type(kernels::IndexTypes{}, call.inputs[0].dtype, [&](auto tag) {
    const auto* index = kernels::elements_of<const typename decltype(tag)::Type>(call.inputs[0]);
    for (std::size_t i = 0; i < call.inputs[0].count && found < 0; ++i) {
      if (!rows.has(index[i])) found = static_cast<std::int64_t>(i);
    }
  });
  return found;
}

}  // namespace belfry
