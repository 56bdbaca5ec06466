// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "testing/drawn_numbers.h"
#include "testing/raw_program.h"
#include "testing/trials/public_program.h"

namespace belfry::sim::testing {

/// Adds a write to device memory or to captured memory by a replica, and a read of the same memory
/// by a second replica, at drawn places of a private program. The pair is the only race, or a merge
/// is between the two: a verdict depends on this pair alone.
void add_pair(RawProgram& program, DrawnNumbers& numbers);
void add_pair(PublicProgram& program, DrawnNumbers& numbers);

}  // namespace belfry::sim::testing
