// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/testing/nests.h"

#include <rapidcheck.h>

#include <iosfwd>

namespace belfry::testing {

/// Prints a counterexample, for RapidCheck.
void showValue(const NestShape& shape, std::ostream& out);

/// Shapes of the nests of `nest_of`. Shrinks towards the smallest shape.
rc::Gen<NestShape> nest_shape();

}  // namespace belfry::testing
