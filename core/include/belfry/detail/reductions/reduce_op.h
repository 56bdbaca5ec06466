// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace belfry {

/// The operators that combine values of replicas (SEM-30 to SEM-35, SEM-252 to SEM-254). Any NaN
/// makes the result NaN.
enum class ReduceOp : std::uint8_t {
  kSum,   ///< Sum in a ReductionOrder; integers modulo 2^w; 16-bit floats in float, rounded once.
  kMean,  ///< SUM, then one true division by the number of values, before the rounding.
  kMax,   ///< The largest value, the same in every order: +0 is larger than -0.
  kMin,   ///< The smallest value, the same in every order: -0 is smaller than +0.
  kProd,  ///< Product, with the order, the integers and the 16-bit floats of kSum.
};

/// `sum`, `mean`, `max`, `min` or `prod`.
std::string to_string(ReduceOp op);
/// The operator with this name, as to_string gives it, in upper, lower or mixed case.
/// Throws: InvalidArgumentError (kInvalidArgument) for every other name.
ReduceOp parse_reduce_op(std::string_view name, CallSite site = CallSite::here());

/// The order of the additions of a reduction.
enum class ReductionOrder : std::uint8_t {
  kReplicaOrder,  ///< ((x0 + x1) + x2) + ...: canonical.
  kTree,          ///< Pairwise: (x0 + x1) + (x2 + x3) ...
  kRing,          ///< Chunk c of N begins at replica c and continues cyclically (SEM-32).
  kUnspecified,   ///< Defined by the hardware or the algorithm; bits may differ from the others.
};

/// `replica order`, `tree`, `ring` or `unspecified`.
std::string to_string(ReductionOrder order);

namespace detail {

/// The operator of partial results: MEAN divides once, at the end.
constexpr ReduceOp partial_op(ReduceOp op) { return op == ReduceOp::kMean ? ReduceOp::kSum : op; }

/// Whether the operator adds: SUM and MEAN.
constexpr bool is_additive(ReduceOp op) { return partial_op(op) == ReduceOp::kSum; }

/// A parameter type that accepts ReduceOp::kMean alone, as a constant expression.
struct MeanOnly {
  consteval MeanOnly(ReduceOp op) {  // NOLINT: implicit on purpose.
    if (op != ReduceOp::kMean) {
      throw "SUM of a Mirrored is ambiguous: the value, or the value times the replicas?";
    }
  }
};

}  // namespace detail

}  // namespace belfry
