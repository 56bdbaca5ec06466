// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/fold_of_list.h"

#include "belfry/backend/element_ops.h"
#include "belfry/backend/element_types.h"
#include "belfry/backend/kernel.h"

#include <cstddef>

namespace belfry::detail {

template <class E>
FoldOf<E> fold_of_list(ReduceOp op, const std::vector<E>& values) {
  using C = FoldOf<E>;
  const auto fold = [&]<FoldOp kFold>() {
    if (values.empty()) return element::fold_of_nothing<kFold, C>();
    C folded = element::load<E>(values.front());
    for (std::size_t i = 1; i < values.size(); ++i) {
      folded = element::apply<kFold>(folded, C(element::load<E>(values[i])));
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

template char fold_of_list(ReduceOp, const std::vector<char>&);
template signed char fold_of_list(ReduceOp, const std::vector<signed char>&);
template unsigned char fold_of_list(ReduceOp, const std::vector<unsigned char>&);
template short fold_of_list(ReduceOp, const std::vector<short>&);
template unsigned short fold_of_list(ReduceOp, const std::vector<unsigned short>&);
template int fold_of_list(ReduceOp, const std::vector<int>&);
template unsigned fold_of_list(ReduceOp, const std::vector<unsigned>&);
template long fold_of_list(ReduceOp, const std::vector<long>&);
template unsigned long fold_of_list(ReduceOp, const std::vector<unsigned long>&);
template long long fold_of_list(ReduceOp, const std::vector<long long>&);
template unsigned long long fold_of_list(ReduceOp, const std::vector<unsigned long long>&);
template float fold_of_list(ReduceOp, const std::vector<float>&);
template double fold_of_list(ReduceOp, const std::vector<double>&);
template float fold_of_list(ReduceOp, const std::vector<Float16>&);
template float fold_of_list(ReduceOp, const std::vector<BFloat16>&);

}  // namespace belfry::detail
