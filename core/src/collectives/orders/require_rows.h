// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/addition_order.h"

namespace belfry::orders {

/// Throws InvalidArgumentError (kInvalidArgument) without rows, (kShape) if a row is longer or
/// shorter than the result, (kDType) as require_explained.
void require_rows(const detail::OrderQuestion& question, CallSite site);

}  // namespace belfry::orders
