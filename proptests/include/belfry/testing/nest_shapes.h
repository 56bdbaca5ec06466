// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/testing/nests.h"

#include <rapidcheck.h>

#include <iosfwd>

namespace belfry::testing {

void showValue(const NestShape& shape, std::ostream& out);

/// Shapes of the nests that `nest_of` makes. Shrinks towards the smallest.
rc::Gen<NestShape> nest_shape();

}  // namespace belfry::testing
