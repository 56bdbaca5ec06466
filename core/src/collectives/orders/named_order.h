// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/addition_order.h"

namespace belfry::orders {

/// The most chunks of a ring without subchunks.
constexpr int most_chunks(int members) { return 4 * members; }

/// Throws InvalidArgumentError (kDType) unless the type is float32, float16 or bfloat16.
void require_explained(DType dtype, CallSite site);

/// Throws InvalidArgumentError (kInvalidArgument) unless the order is one of the orders of this
/// many members.
void validate(const NamedOrder& order, int members, DType dtype, CallSite site);

}  // namespace belfry::orders
