// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace belfry::bugs {

/// Runs a program once, with its replicas on threads: `number` and `mutant` or `twin`. Errors of
/// belfry are outcomes. Returns the exit status.
int run_on_threads(int number, const std::string& which);

/// Prints the number of failures of each program, when `self` runs the program eight times in a
/// process of its own, on threads: in a build with ThreadSanitizer, the runs with a reported data
/// race.
void print_threads_table(const std::string& self);

}  // namespace belfry::bugs
