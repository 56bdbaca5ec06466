// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/addition_order.h"
#include "belfry/error.h"
#include "collectives/orders/require_rows.h"

#include <cmath>
#include <limits>

namespace belfry::detail {
namespace {

double unit_of(DType dtype) {
  if (dtype == DType::kFloat16) return 0x1p-11;
  return dtype == DType::kBFloat16 ? 0x1p-8 : 0x1p-24;
}

// The relative growth of k rounding errors in one direction.
double growth(double k, double unit) {
  if (k * unit >= 1) return std::numeric_limits<double>::infinity();
  return k * unit / (1 - k * unit);
}

}  // namespace

std::vector<double> any_order_bound(const OrderQuestion& question, SumRounding rounding,
                                    CallSite site) {
  orders::require_rows(question, site);
  const auto additions = static_cast<double>(question.inputs.size() - 1);
  const bool rounds_once = rounding == SumRounding::kOnce;
  double factor = growth(additions, rounds_once ? 0x1p-24 : unit_of(question.dtype));
  if (rounds_once && question.dtype != DType::kFloat32) {
    factor += unit_of(question.dtype) * (1 + factor);
  }
  // The sums of absolute values are rounded, too: at most 2^-53 for each addition.
  factor *= 1 + (additions + 4) * 0x1p-52;
  std::vector<double> bounds(question.result.size());
  for (const auto& row : question.inputs) {
    for (std::size_t i = 0; i < row.size(); ++i) bounds[i] += std::fabs(double{row[i]});
  }
  for (double& bound : bounds) bound *= factor;
  return bounds;
}

}  // namespace belfry::detail
