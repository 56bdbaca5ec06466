// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "console.h"
#include "demo_backend.h"

#include <string>
#include <vector>

namespace belfry::demo {

/// The example of the reference documents: each replica adds its id to 3, the merge sums the
/// results, and each replica adds its own result again. For two replicas 10 and 11.
std::vector<int> reference_example(Backend& backend);

/// A step in which a replica leaves before a merge. Returns the description of the error.
std::string broken_step(Backend& backend);

/// Prints the reference example, the mistake, and a timeline of the former.
void show_lessons(BackendKind kind, tool::Console& console);

}  // namespace belfry::demo
