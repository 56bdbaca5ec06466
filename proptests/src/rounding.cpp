// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "rounding.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <vector>

namespace belfry::testing {
namespace {

bool has_16_bits(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

bool is_extreme(ReduceOp op) { return op == ReduceOp::kMax || op == ReduceOp::kMin; }

Exact magnitude_of(ReduceOp op, const TapedLeaf& leaf, std::size_t element) {
  Exact magnitude = op == ReduceOp::kProd ? 1 : 0;
  for (const std::vector<Exact>& input : leaf.inputs) {
    const Exact own = std::fabs(input[element]);
    if (is_extreme(op)) {
      magnitude = std::max(magnitude, own);
    } else if (op == ReduceOp::kProd) {
      magnitude *= own;
    } else {
      magnitude += own;
    }
  }
  return op == ReduceOp::kMean ? magnitude / static_cast<Exact>(leaf.inputs.size()) : magnitude;
}

}  // namespace

Exact unit_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return 0x1p-24L;
    case DType::kFloat64:
      return 0x1p-53L;
    case DType::kFloat16:
      return 0x1p-11L;
    case DType::kBFloat16:
      return 0x1p-8L;
    default:
      return 0;
  }
}

Exact smallest_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return 0x1p-149L;
    case DType::kFloat64:
      return std::numeric_limits<double>::denorm_min();
    case DType::kFloat16:
      return 0x1p-24L;
    case DType::kBFloat16:
      return 0x1p-133L;
    default:
      return 0;
  }
}

Exact growth(Exact steps, Exact unit) {
  const Exact share = steps * unit;
  return share < 1 ? share / (1 - share) : std::numeric_limits<Exact>::infinity();
}

Exact reduction_bound(ReduceOp op, const TapedLeaf& leaf, std::size_t element) {
  const Exact unit = unit_of(leaf.dtype);
  if (unit == 0 || is_extreme(op)) return 0;
  const Exact steps = static_cast<Exact>(leaf.inputs.size()) - 1 + (op == ReduceOp::kMean ? 1 : 0);
  Exact factor = growth(steps, has_16_bits(leaf.dtype) ? 0x1p-24L : unit);
  if (has_16_bits(leaf.dtype)) factor += unit * (1 + factor);
  return magnitude_of(op, leaf, element) * factor + smallest_of(leaf.dtype);
}

Exact terms_bound(DType dtype, int terms, Exact magnitude) {
  if (terms <= 1 || unit_of(dtype) == 0) return 0;
  const bool is_wide = !has_16_bits(dtype);
  const Exact sum = growth(static_cast<Exact>(terms) - 1, is_wide ? unit_of(dtype) : 0x1p-24L);
  return 2 * (is_wide ? sum : sum + unit_of(dtype) * (1 + sum)) * magnitude;
}

Exact magnitude_of_inputs(ReduceOp op, const TapedLeaf& leaf) {
  Exact largest = 0;
  const std::size_t elements = leaf.inputs.empty() ? 0 : leaf.inputs.front().size();
  for (std::size_t i = 0; i < elements; ++i) {
    largest = std::max(largest, magnitude_of(op, leaf, i));
  }
  return largest;
}

Exact magnitude_of_result(const TapedLeaf& leaf) {
  Exact largest = 0;
  for (const Exact element : leaf.result) largest = std::max(largest, std::fabs(element));
  return largest;
}

std::string text_of(Exact number, DType dtype) {
  std::ostringstream out;
  out.precision(unit_of(dtype) == 0 ? 20 : std::numeric_limits<double>::max_digits10);
  out << number;
  return out.str();
}

}  // namespace belfry::testing
