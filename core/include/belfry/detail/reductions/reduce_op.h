// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace belfry {

/// The operators that combine values of replicas (SEM-30 to SEM-35).
enum class ReduceOp : std::uint8_t {
  kSum,   ///< Sum in a ReductionOrder; integers modulo 2^w; 16-bit floats in float, rounded once.
  kMean,  ///< SUM, then one true division by the number of values, before the rounding.
};

/// `sum` or `mean`.
std::string to_string(ReduceOp op);
/// The operator with this name: `sum` or `mean`, in upper, lower or mixed case.
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
