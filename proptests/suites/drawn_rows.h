// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/dtype.h"
#include "belfry/nest.h"
#include "belfry/planned_all_reduce.h"
#include "belfry/reduction.h"
#include "belfry/tensor.h"
#include "belfry/testing/values.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iosfwd>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

// Rows and nests whose element types are drawn: a verb has a single instantiation for all element
// types and both residences.
namespace belfry::testing {

/// Elements of a type known at run time.
struct DrawnRow {
  DType dtype = DType::kFloat32;
  std::vector<std::uint64_t> bits{};  ///< Of each element, filled up with zeros.

  /// Equal numbers, or NaN in both (same_numbers).
  friend bool operator==(const DrawnRow& a, const DrawnRow& b);
};
/// Prints a counterexample, for RapidCheck.
void showValue(const DrawnRow& row, std::ostream& out);

__extension__ using Int128 = __int128;
/// The lowest of `bits`, as many as an integer of `dtype` has.
std::uint64_t cut(DType dtype, std::uint64_t bits);
/// The bits of the greatest integer of `dtype`; plus 1, the bits of the least.
std::uint64_t greatest_integer(DType dtype);
/// An element of a row of integers.
Int128 integer_at(const DrawnRow& row, std::size_t index);

/// As values_of.
DrawnRow drawn_row(DType dtype, const Values& values, int replica, std::size_t length);

/// The reduction of rows, one of each replica, by the rules: element by element, rounded once.
DrawnRow expected_reduction(ReduceOp op, const std::vector<DrawnRow>& rows,
                            ReductionOrder order = ReductionOrder::kReplicaOrder);
/// The same with the additions that a plan states.
DrawnRow planned_reduction(ReduceOp op, const std::vector<DrawnRow>& rows,
                           const ReductionPlan& plan);

/// A leaf: one member has a value, and the others have no leaves.
template <class T>
struct LeafOf {
  std::optional<std::vector<T>> list{};
  std::optional<Tensor<T>> tensor{};

  static auto members(auto& self) { return std::tie(self.list, self.tensor); }
};
using DrawnLeaf = std::tuple<LeafOf<float>, LeafOf<double>, LeafOf<Float16>, LeafOf<BFloat16>,
                             LeafOf<std::int8_t>, LeafOf<std::int16_t>, LeafOf<std::int32_t>,
                             LeafOf<std::int64_t>, LeafOf<std::uint8_t>, LeafOf<std::uint16_t>,
                             LeafOf<std::uint32_t>, LeafOf<std::uint64_t>>;
/// Any leaves in any order.
using DrawnNest = std::vector<DrawnLeaf>;

/// The row in host memory.
DrawnLeaf list_leaf(const DrawnRow& row);
/// The row as a tensor, by default of rank 1. Context: any context that can make tensors.
DrawnLeaf tensor_leaf(const DrawnRow& row);
DrawnLeaf tensor_leaf(const DrawnRow& row, const Shape& shape);
/// The elements of each leaf. Order: blocks the host until the tensors are computed.
std::vector<DrawnRow> rows_of(const DrawnNest& nest);
/// The places of the tensors of the nest.
std::vector<Placement> placements_of(const DrawnNest& nest);

/// Calls `fn.template operator()<T>()` with the C++ type of `dtype`. Throws: std::logic_error for
/// bool.
template <class F>
decltype(auto) with_type(DType dtype, const F& fn) {
  switch (dtype) {
    case DType::kFloat32:
      return fn.template operator()<float>();
    case DType::kFloat64:
      return fn.template operator()<double>();
    case DType::kFloat16:
      return fn.template operator()<Float16>();
    case DType::kBFloat16:
      return fn.template operator()<BFloat16>();
    case DType::kInt8:
      return fn.template operator()<std::int8_t>();
    case DType::kInt16:
      return fn.template operator()<std::int16_t>();
    case DType::kInt32:
      return fn.template operator()<std::int32_t>();
    case DType::kInt64:
      return fn.template operator()<std::int64_t>();
    case DType::kUInt8:
      return fn.template operator()<std::uint8_t>();
    case DType::kUInt16:
      return fn.template operator()<std::uint16_t>();
    case DType::kUInt32:
      return fn.template operator()<std::uint32_t>();
    case DType::kUInt64:
      return fn.template operator()<std::uint64_t>();
    case DType::kBool:
      break;
  }
  throw std::logic_error("no reduction has this element type");
}

/// The row with its C++ type.
template <class T>
std::vector<T> typed(const DrawnRow& row) {
  std::vector<T> values(row.bits.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::memcpy(static_cast<void*>(&values[i]), &row.bits[i], sizeof(T));
  }
  return values;
}
/// The row without its C++ type.
template <class T>
DrawnRow untyped(const std::vector<T>& values) {
  DrawnRow row{dtype_of<T>(), std::vector<std::uint64_t>(values.size())};
  for (std::size_t i = 0; i < values.size(); ++i) std::memcpy(&row.bits[i], &values[i], sizeof(T));
  return row;
}

}  // namespace belfry::testing
