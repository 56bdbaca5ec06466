// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/element_ops.h"
#include "belfry/backend/element_types.h"
#include "belfry/backend/kernel.h"
#include "belfry/detail/reductions/reduce_op.h"

#include <cstddef>
#include <vector>

namespace belfry::detail {

/// The fold of a list, in ascending order, before it is stored: of 16-bit floats in float. Of an
/// empty list the neutral element.
template <class E>
element::Compute<E> fold_of_list(ReduceOp op, const std::vector<E>& values) {
  using C = element::Compute<E>;
  const auto fold = [&]<FoldOp kFold>() {
    if (values.empty()) return element::fold_of_nothing<kFold, C>();
    C folded = element::load(values.front());
    for (std::size_t i = 1; i < values.size(); ++i) {
      folded = element::apply<kFold>(folded, C(element::load(values[i])));
    }
    return folded;
  };
  switch (element::fold_of(op)) {
    case FoldOp::kMaximum:
      return fold.template operator()<FoldOp::kMaximum>();
    case FoldOp::kMinimum:
      return fold.template operator()<FoldOp::kMinimum>();
    case FoldOp::kProduct:
      return fold.template operator()<FoldOp::kProduct>();
    case FoldOp::kSum:
      break;
  }
  return fold.template operator()<FoldOp::kSum>();
}

}  // namespace belfry::detail
