// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/reductions/reduce_op.h"
#include "belfry/dtype.h"

#include <type_traits>
#include <vector>

namespace belfry::detail {

/// The type of folds of elements: float for floats of 16 bits.
template <class E>
using FoldOf = std::conditional_t<std::is_arithmetic_v<E>, E, float>;

/// The fold of a list, in ascending order, before it is stored: of 16-bit floats in float. Of an
/// empty list the neutral element. Defined for every Element but bool.
template <class E>
FoldOf<E> fold_of_list(ReduceOp op, const std::vector<E>& values);

}  // namespace belfry::detail
