// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "console.h"
#include "demo_backend.h"

#include <string>
#include <vector>

namespace belfry::demo {

/// The reference documents' own example: each replica adds its id to 3, the merge sums these up,
/// and each adds its own again. For two replicas 10 and 11.
std::vector<int> reference_example(Backend& backend);

/// A step in which one replica leaves before a merge. Returns what the user is told.
std::string broken_step(Backend& backend);

/// Prints the reference example, the mistake, and a timeline of the former.
void show_lessons(BackendKind kind, Console& console);

}  // namespace belfry::demo
