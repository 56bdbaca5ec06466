// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace belfry {

/// How values of replicas are combined (SEM-30 to SEM-35).
enum class ReduceOp : std::uint8_t {
  kSum,   ///< Left fold by replica id; integers modulo 2^w; 16-bit floats in float, rounded once.
  kMean,  ///< SUM, then one true division by the number of values, before the rounding.
};

/// `sum` or `mean`.
std::string to_string(ReduceOp op);
/// The operator that a name means: `sum` or `mean`, in any case of letters.
/// Throws: InvalidArgumentError (kInvalidArgument) for every other name.
ReduceOp parse_reduce_op(std::string_view name, CallSite site = CallSite::here());

/// Order in which a reduction adds its inputs up.
enum class ReductionOrder : std::uint8_t {
  kReplicaOrder,  ///< ((x0 + x1) + x2) + ...: canonical.
  kTree,          ///< Pairwise: (x0 + x1) + (x2 + x3) ...
  kRing,          ///< Of N chunks, chunk c starts at replica c and goes round (SEM-32).
  kUnspecified,   ///< Whatever the hardware does; bits may differ from the other orders.
};

/// `replica order`, `tree`, `ring` or `unspecified`.
std::string to_string(ReductionOrder order);

}  // namespace belfry
