// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/trace.h"
#include "console.h"
#include "demo.h"

#include <string>
#include <vector>

namespace belfry::demo {

/// The example of the reference documents: each replica adds its id to 3, the merge sums the
/// results, and each replica adds its own result again. For two replicas 10 and 11.
std::vector<int> reference_example(Backend& backend);

/// A step in which a replica leaves before a merge. Returns the description of the error.
std::string broken_step(Backend& backend);

/// The first step of the demo's training, on `replicas` simulated devices. The trace gets the
/// steps. Throws: errors of reading the images.
void trace_first_step(const DemoOptions& options, int replicas, TraceFile& trace);

/// Prints the reference example, the mistake, and a timeline of the first step of the training.
/// Throws: as trace_first_step; InvalidArgumentError (kFile): the folder of temporary files is not
/// writable.
void show_lessons(const DemoOptions& options, tool::Console& console);

}  // namespace belfry::demo
