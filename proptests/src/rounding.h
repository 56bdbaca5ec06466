// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/dtype.h"
#include "belfry/reduction.h"
#include "reduction_tape.h"

#include <cstddef>
#include <string>

namespace belfry::testing {

/// The unit of rounding of an element: half the distance of 1 and the next number; 0 for integers.
Exact unit_of(DType dtype);
/// g(steps) = steps * unit / (1 - steps * unit): the bound of so many roundings.
Exact growth(Exact steps, Exact unit);
/// The rounding of a number near zero has an absolute error, too: the smallest positive number.
Exact smallest_of(DType dtype);

/// The bound of a sum, mean or product over the inputs of `leaf`, for element `element`; extremes
/// are exact.
Exact reduction_bound(ReduceOp op, const TapedLeaf& leaf, std::size_t element);
/// The bound of sums of `terms` terms in the replicas of both runs, for terms that add up to at
/// most `magnitude` without their signs.
/// Sums of 16-bit floats are in float, and rounded once.
Exact terms_bound(DType dtype, int terms, Exact magnitude);
/// The largest sum (mean, product, extreme) of magnitudes of the inputs of an element.
Exact magnitude_of_inputs(ReduceOp op, const TapedLeaf& leaf);
/// The largest magnitude of a result.
Exact magnitude_of_result(const TapedLeaf& leaf);

/// With the digits that tell numbers of the type apart.
std::string text_of(Exact number, DType dtype);

}  // namespace belfry::testing
