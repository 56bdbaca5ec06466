// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "suites/drawn_rows.h"

#include "suites/reduce_oracle.h"

namespace belfry::testing {
namespace {

template <class T>
std::vector<std::vector<T>> all_typed(const std::vector<DrawnRow>& rows) {
  std::vector<std::vector<T>> all;
  for (const DrawnRow& row : rows) all.push_back(typed<T>(row));
  return all;
}

// The result of an element by the additions of a tree, with one division and one rounding.
template <class T>
T reduced_by(const AdditionTree& tree, ReduceOp op, const std::vector<T>& parts) {
  if (op == ReduceOp::kMax || op == ReduceOp::kMin) {
    return expected_extreme(op == ReduceOp::kMax, parts);
  }
  std::vector<Wide<T>> inputs;
  std::vector<Factor<Wide<T>>> factors;
  for (const T part : parts) {
    inputs.push_back(widened(part));
    factors.push_back({widened(part)});
  }
  if (op == ReduceOp::kProd) return narrowed<T>(sum_of_tree(tree, factors).value);
  Wide<T> sum = sum_of_tree(tree, inputs);
  if (op == ReduceOp::kMean) sum /= static_cast<Wide<T>>(parts.size());
  return narrowed<T>(sum);
}

// The additions that a plan states, element by element.
template <class T>
std::vector<T> reduced_by(const ReductionPlan& plan, ReduceOp op,
                          const std::vector<std::vector<T>>& rows) {
  const std::vector<std::size_t> begins = plan.chunk_begins(rows.front().size());
  std::vector<T> result;
  for (int chunk = 0; chunk < plan.chunks; ++chunk) {
    const AdditionTree tree = plan.additions(chunk);
    const auto c = static_cast<std::size_t>(chunk);
    for (std::size_t i = begins[c]; i < begins[c + 1]; ++i) {
      std::vector<T> parts;
      for (const std::vector<T>& row : rows) parts.push_back(row[i]);
      result.push_back(reduced_by(tree, op, parts));
    }
  }
  return result;
}

// Calls `visit` with the member of each type.
template <class F>
void for_each_type(const DrawnLeaf& leaf, const F& visit) {
  std::apply([&](const auto&... leaves) { (visit(leaves), ...); }, leaf);
}

bool is_signed(DType dtype) {
  return dtype == DType::kInt8 || dtype == DType::kInt16 || dtype == DType::kInt32 ||
         dtype == DType::kInt64;
}

}  // namespace

bool operator==(const DrawnRow& a, const DrawnRow& b) {
  if (a.dtype != b.dtype) return false;
  return with_type(a.dtype, [&]<class T>() { return same_numbers(typed<T>(a), typed<T>(b)); });
}

void showValue(const DrawnRow& row, std::ostream& out) {
  with_type(row.dtype, [&]<class T>() { showValue(Numbers(typed<T>(row)), out); });
}

std::uint64_t cut(DType dtype, std::uint64_t bits) {
  const auto unused = static_cast<int>(64 - 8 * size_of(dtype));
  return bits << unused >> unused;
}

std::uint64_t greatest_integer(DType dtype) {
  return cut(dtype, ~std::uint64_t{0}) >> (is_signed(dtype) ? 1 : 0);
}

Int128 integer_at(const DrawnRow& row, std::size_t index) {
  const std::uint64_t bits = row.bits[index];
  const auto width = static_cast<int>(8 * size_of(row.dtype));
  const bool is_negative = is_signed(row.dtype) && bits >> (width - 1) != 0;
  return static_cast<Int128>(bits) - (is_negative ? Int128{1} << width : Int128{0});
}

DrawnRow drawn_row(DType dtype, const Values& values, int replica, std::size_t length) {
  return with_type(dtype,
                   [&]<class T>() { return untyped(values_of<T>(values, replica, length)); });
}

DrawnRow expected_reduction(ReduceOp op, const std::vector<DrawnRow>& rows, ReductionOrder order) {
  return with_type(rows.front().dtype, [&]<class T>() {
    return untyped(expected_reduction(op, all_typed<T>(rows), order));
  });
}

DrawnRow planned_reduction(ReduceOp op, const std::vector<DrawnRow>& rows,
                           const ReductionPlan& plan) {
  return with_type(rows.front().dtype,
                   [&]<class T>() { return untyped(reduced_by(plan, op, all_typed<T>(rows))); });
}

DrawnLeaf list_leaf(const DrawnRow& row) {
  DrawnLeaf leaf;
  with_type(row.dtype, [&]<class T>() { std::get<LeafOf<T>>(leaf).list = typed<T>(row); });
  return leaf;
}

DrawnLeaf tensor_leaf(const DrawnRow& row) {
  return tensor_leaf(row, {static_cast<std::int64_t>(row.bits.size())});
}

DrawnLeaf tensor_leaf(const DrawnRow& row, const Shape& shape) {
  DrawnLeaf leaf;
  with_type(row.dtype, [&]<class T>() {
    std::get<LeafOf<T>>(leaf).tensor = Tensor<T>::from(shape, typed<T>(row));
  });
  return leaf;
}

std::vector<DrawnRow> rows_of(const DrawnNest& nest) {
  std::vector<DrawnRow> rows;
  for (const DrawnLeaf& leaf : nest) {
    for_each_type(leaf, [&](const auto& of_type) {
      if (of_type.list) rows.push_back(untyped(*of_type.list));
      if (of_type.tensor) rows.push_back(untyped(of_type.tensor->to_host()));
    });
  }
  return rows;
}

std::vector<Placement> placements_of(const DrawnNest& nest) {
  std::vector<Placement> placements;
  for (const DrawnLeaf& leaf : nest) {
    for_each_type(leaf, [&](const auto& of_type) {
      if (of_type.tensor) placements.push_back(of_type.tensor->placement());
    });
  }
  return placements;
}

}  // namespace belfry::testing
