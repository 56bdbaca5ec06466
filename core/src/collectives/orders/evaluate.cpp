// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "collectives/orders/evaluate.h"

#include "belfry/error.h"
#include "collectives/orders/named_order.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

namespace belfry {
namespace orders {
namespace {

using Values = std::vector<float>;

void round_to(DType dtype, Values& values) {
  if (dtype == DType::kFloat16) {
    for (float& value : values) value = Float16(value);
  } else if (dtype == DType::kBFloat16) {
    for (float& value : values) value = BFloat16(value);
  }
}

float lesser(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<float>::quiet_NaN();
  const bool second = b < a || (a == b && std::signbit(b));
  return second ? b : a;
}

void combine(OrderOp op, Values& left, const Values& right) {
  const std::size_t count = left.size();
  switch (op) {
    case OrderOp::kSum:
    case OrderOp::kMean:
      for (std::size_t i = 0; i < count; ++i) left[i] += right[i];
      return;
    case OrderOp::kMin:
      for (std::size_t i = 0; i < count; ++i) left[i] = lesser(left[i], right[i]);
      return;
    case OrderOp::kMax:
      for (std::size_t i = 0; i < count; ++i) left[i] = -lesser(-left[i], -right[i]);
      return;
    case OrderOp::kProd:
      for (std::size_t i = 0; i < count; ++i) left[i] *= right[i];
      return;
  }
}

Values fold(const AdditionTree& tree, const Columns& columns, const OrderArithmetic& arithmetic) {
  if (tree.terms.empty()) {
    const Values& row = columns.rows[static_cast<std::size_t>(tree.member)];
    const auto at = [&](std::size_t i) { return row.begin() + static_cast<std::ptrdiff_t>(i); };
    return Values(at(columns.begin), at(columns.end));
  }
  Values left = fold(tree.terms[0], columns, arithmetic);
  combine(arithmetic.op, left, fold(tree.terms[1], columns, arithmetic));
  if (arithmetic.rounding == SumRounding::kEachAddition) round_to(arithmetic.dtype, left);
  return left;
}

void require_inputs(const AdditionTree& tree, std::size_t inputs, CallSite site) {
  const auto member = static_cast<std::size_t>(tree.member);
  if (tree.terms.empty() && (tree.member < 0 || member >= inputs)) {
    throw InvalidArgumentError(
        ErrorCode::kInvalidArgument,
        "additions of " + to_string(tree) + ", and there are " + std::to_string(inputs) + " inputs",
        "give an input for each member", site);
  }
  for (const AdditionTree& term : tree.terms) require_inputs(term, inputs, site);
}

}  // namespace

std::vector<float> evaluate(const AdditionTree& tree, const Columns& columns,
                            const OrderArithmetic& arithmetic) {
  Values values = fold(tree, columns, arithmetic);
  if (arithmetic.op == OrderOp::kMean) {
    const auto members = static_cast<float>(columns.rows.size());
    for (float& value : values) value /= members;
  }
  round_to(arithmetic.dtype, values);
  return values;
}

bool have_equal_bits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

}  // namespace orders

float evaluate(const AdditionTree& tree, std::span<const float> inputs,
               const OrderArithmetic& arithmetic, CallSite site) {
  orders::require_explained(arithmetic.dtype, site);
  orders::require_inputs(tree, inputs.size(), site);
  std::vector<std::vector<float>> rows;
  for (const float input : inputs) rows.push_back({input});
  return orders::evaluate(tree, {rows, 0, 1}, arithmetic).front();
}

}  // namespace belfry
